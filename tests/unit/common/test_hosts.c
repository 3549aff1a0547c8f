/* test_hosts.c: names that are asked for, and questions that nobody waits for any more. What is not
 * freed is found by LeakSanitizer. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/net/ev.h"
#include "common/net/hosts.h"

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
