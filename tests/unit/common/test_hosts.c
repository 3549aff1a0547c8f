/* test_hosts.c: names that are asked for, and questions that nobody waits for any more. What is not
 * freed is found by LeakSanitizer. */
#include "tests/lib/criterion.h"
#include <string.h>

#include "common/net/ev.h"
#include "common/net/hosts.h"
#include "tests/lib/dnsrig.h"

static struct host_answer got;
static unsigned told;

static void on_host(void *arg, const struct host_answer *a)
{
    cr_assert_eq(arg, (void *)&got);
    got = *a;
    told++;
}

static struct hosts hosts;
static struct ev *ev;

static void begin(void)
{
    struct err e;

    cr_assert_eq(ev_new(&ev, &e), 0);
    hosts_init(&hosts, ev);
    told = 0;
}

Test(hosts, a_name_of_the_hosts_file_is_told_later)
{
    begin();
    cr_assert_not_null(hosts_ask(&hosts, "localhost:80", on_host, &got));
    cr_expect_eq(told, 0, "not from inside");
    for (unsigned i = 0; i < 3 && told == 0; i++)
        ev_turn(ev, false);
    cr_expect_eq(told, 1);
    cr_expect_gt(got.n, 0);
    hosts_fini(&hosts);
    ev_free(ev);
}

Test(hosts, open_questions_die_unanswered)
{
    struct host_question *q;

    begin();
    cr_assert_not_null(hosts_ask(&hosts, "nobody.invalid:80", on_host, &got));
    q = hosts_ask(&hosts, "nobody.else.invalid:80", on_host, &got);
    cr_assert_not_null(q);
    hosts_drop(q);
    cr_assert_eq(hosts.open.n, 2);
    hosts_fini(&hosts);
    cr_expect_eq(hosts.open.n, 0);
    cr_expect_eq(told, 0);
    ev_turn(ev, false);
    ev_free(ev);
}

static void on_pulse(void *arg)
{
    ev_timer_in_us(*(struct ev_timer **)arg, 5000);
}

static struct ev_timer *pulse;

#define UNTIL(cond)                                                                      \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 20000;                                                \
        while (!(cond) && ev_now(ev) < end_)                                             \
            ev_turn(ev, true);                                                           \
        cr_assert(cond, "waited in vain for " #cond);                                    \
    } while (0)

static struct dnsrig first, second;

static void begin_servers(void)
{
    begin();
    pulse = ev_timer_new(ev, on_pulse, &pulse);
    on_pulse(&pulse);
    dns_init(&first, ev, 1);
    dns_init(&second, ev, 2);
    dns_use(&first);
}

static void end_servers(void)
{
    hosts_fini(&hosts);
    dns_fini(&first);
    dns_fini(&second);
    dns_files_fini();
    ev_timer_free(pulse);
    ev_free(ev);
}

static unsigned last_byte(void)
{
    return got.n > 0 ? ntohl(got.addr[0].in4.sin_addr.s_addr) & 255 : 0;
}

static void ask(const char *name)
{
    unsigned before = told;

    cr_assert_not_null(hosts_ask(&hosts, name, on_host, &got));
    UNTIL(told > before);
}

/* The files are looked at once a second. */
static void ask_until(unsigned last)
{
    msec_t end = ev_now(ev) + 20000;

    while (last_byte() != last && ev_now(ev) < end)
        ask("redis.test:6379");
    cr_expect_eq(last_byte(), last);
}

Test(hosts, a_new_name_server_is_asked_without_a_restart)
{
    begin_servers();
    ask("redis.test:6379");
    cr_expect_eq(last_byte(), 1, "%s", got.why);
    cr_expect_eq(net_port(&got.addr[0]), 6379);
    dns_use(&second);
    ask_until(2);
    end_servers();
}

Test(hosts, a_question_at_a_silent_server_is_answered_by_the_next_one)
{
    begin_servers();
    first.silent = true;
    cr_assert_not_null(hosts_ask(&hosts, "redis.test:6379", on_host, &got));
    UNTIL(first.asked > 0);
    dns_use(&second);
    UNTIL(told == 1);
    cr_expect_eq(last_byte(), 2, "%s", got.why);
    cr_expect_eq(hosts.open.n, 0);
    end_servers();
}

Test(hosts, a_changed_hosts_file_counts)
{
    begin_servers();
    dns_write(dns_names, "127.0.0.77 redis.test\n");
    ask_until(77);
    dns_write(dns_names, "127.0.0.1 localhost\n");
    ask_until(1);
    end_servers();
}

Test(hosts, a_turn_at_a_silent_server_is_short)
{
    msec_t longest = 0, from;

    begin_servers();
    first.silent = true;
    cr_assert_not_null(hosts_ask(&hosts, "redis.test:6379", on_host, &got));
    for (unsigned i = 0; i < 100; i++) {
        from = ev_read_mono_us() / 1000;
        ev_turn(ev, true);
        longest = ms_max(longest, ev_read_mono_us() / 1000 - from);
    }
    cr_expect_lt(longest, 1000, "%ld ms", (long)longest);
    end_servers();
}

/* ---- all addresses, with their time ------------------------------------------------------------ */

static struct host_found found;

static void on_found(void *arg, const struct host_found *f)
{
    cr_assert_eq(arg, (void *)&found);
    found = *f;
    told++;
}

Test(hosts, all_that_is_said_of_a_name_is_told_with_its_time)
{
    begin_servers();
    first.ttl = 77;
    cr_assert(hosts_find(&hosts, "gpu.test", on_found, &found));
    UNTIL(told == 1);
    cr_expect_eq(found.v4.how, HOST_HAS, "%s", found.v4.why);
    cr_expect_eq(found.v4.ttl_s, 77);
    cr_expect_eq(found.v4.n, 1);
    cr_expect_eq(ntohl(found.v4.addr[0].in4.sin_addr.s_addr), INADDR_LOOPBACK);
    cr_expect_eq(found.v6.how, HOST_HAS_NONE);
    cr_expect_str_eq(found.v6.why, "name: it has no address");
    end_servers();
}

Test(hosts, finds_that_are_open_die_unanswered)
{
    begin_servers();
    first.silent = true;
    cr_assert(hosts_find(&hosts, "gpu.test", on_found, &found));
    cr_assert(hosts_find(&hosts, "gpu.test", on_found, &found));
    UNTIL(first.asked > 0);
    end_servers();
    cr_expect_eq(hosts.finds.n, 0);
    cr_expect_eq(told, 0);
}
