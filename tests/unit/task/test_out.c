/* test_out.c: requests to a target that answers, hangs, drips, resets, never ends. */
#define _GNU_SOURCE 1 /* memmem */
#include "task/out/out.h"

#include "tests/lib/criterion.h"
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "common/base/file.h"
#include "task/calls/verdict.h"
#include "task/out/address.h"
#include "common/task/url.h"
#include "tests/lib/targetrig.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello"

static struct ev *ev;
static struct out *out;
static struct out_target *target;
static struct targetrig rig;
static struct call_answer got;
static char body[70000];
static unsigned answers;
static bool wanted;

static void on_answer(void *arg, const struct call_answer *a)
{
    (void)arg;
    got = *a;
    if (a->n > 0)
        memcpy(body, a->body, a->n);
    answers++;
}

static bool may(void *arg)
{
    (void)arg;
    return wanted;
}

#define WAIT(cond)                                                                       \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 10000;                                                \
        struct ev_timer *t_ = ev_timer_new(ev, on_tick, NULL);                           \
        while (!(cond) && ev_now(ev) < end_) {                                           \
            ev_timer_in_us(t_, 5000);                                                    \
            ev_turn(ev, true);                                                           \
        }                                                                                \
        ev_timer_free(t_);                                                               \
        cr_assert(cond, "waited in vain for " #cond);                                    \
    } while (0)

static void on_tick(void *arg)
{
    (void)arg;
}

static void make_target(const char *url, const char *allow)
{
    struct out_rules r = { .url = url, .connect_ms = 1000, .proxy = "" };
    struct err e = { 0 };

    if (allow != NULL)
        cr_assert(ip_net_parse(&r.allow[r.n_allow++], allow));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
}

static void target_url(void)
{
    char url[128];

    snprintf(url, sizeof(url), "http://%s/base/", rig.addr);
    make_target(url, "127.0.0.0/8");
}

static void setup(void)
{
    struct err e = { 0 };

    cr_assert_eq(ev_new(&ev, &e), 0);
    cr_assert_eq(out_new(&out, ev, &e), 0, "%s", e.text);
    target_init(&rig, ev);
    rig.answer = OK;
    wanted = true;
    target_url();
}

static void teardown(void)
{
    out_target_free(target);
    out_free(out);
    target_fini(&rig);
    ev_free(ev);
}

TestSuite(out, .init = setup, .fini = teardown);

static struct out_call *send_one(const char *method, const char *text, uint32_t deadline_ms)
{
    static const char fields[] = "x-a: 1\0x-empty: \0user-agent: segq/1";
    struct out_request q = { .method = method, .path = "/p?q=1", .fields = fields,
                             .fields_n = sizeof(fields), .body = { text, strlen(text) },
                             .deadline_ms = deadline_ms,
                             .keep = 65536, .may = may };

    return out_send(target, &q, on_answer, NULL);
}

static void call(const char *method, const char *text)
{
    unsigned before = answers;

    cr_assert_neq(send_one(method, text, 3000), NULL);
    WAIT(answers > before);
}

Test(out, a_request_is_what_was_said_and_nothing_else)
{
    call("POST", "the body");
    cr_assert_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.status, 200);
    cr_expect_str_eq(got.type, "text/plain");
    cr_expect(got.n == 5 && got.length == 5 && memcmp(body, "hello", 5) == 0);
    cr_expect_eq(strncmp(rig.last, "POST /base/p?q=1 HTTP/1.1\r\nHost: ", 33), 0, "%s", rig.last);
    cr_expect_not_null(strstr(rig.last, "\r\nx-a: 1\r\n"));
    cr_expect_not_null(strstr(rig.last, "\r\nx-empty:\r\n"), "%s", rig.last);
    cr_expect_not_null(strstr(rig.last, "\r\n\r\nthe body"));
    for (const char *const *no = (const char *const[]){ "Accept", "Expect", "Content-Type",
                                                        "Encoding", NULL }; *no != NULL; no++)
        cr_expect_null(strstr(rig.last, *no), "%s", *no);
}

Test(out, each_method_has_the_body_that_it_was_given)
{
    call("GET", "");
    cr_expect_eq(strncmp(rig.last, "GET /base/p?q=1 ", 16), 0);
    cr_expect_null(strstr(rig.last, "Content-Length"));
    call("PUT", "");
    cr_expect_not_null(strstr(rig.last, "Content-Length: 0"));
    call("DELETE", "x");
    cr_expect_eq(strncmp(rig.last, "DELETE ", 7), 0);
    cr_expect_not_null(strstr(rig.last, "Content-Length: 1"));
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    call("HEAD", "");
    cr_expect_eq(got.fault, CALL_NONE);
    cr_expect_eq(got.n, 0);
    cr_expect_eq(rig.connections, 1, "one connection is kept");
}

Test(out, a_head_with_a_body_does_not_wait_for_one)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    call("HEAD", "a body");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.status, 200);
}

Test(out, fields_that_say_what_to_do_are_read)
{
    rig.answer = "HTTP/1.1 103 Early\r\nretry-after: 1\r\n\r\n"
                 "HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nSEGQ-Command:  retry=5 \r\n"
                 "Content-Length: 0\r\n\r\n";
    call("POST", "x");
    cr_expect_eq(got.status, 503);
    cr_expect_str_eq(got.retry_after, "120");
    cr_expect_str_eq(got.command, "retry=5");
}

Test(out, a_redirect_is_an_answer_like_others)
{
    rig.answer = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    call("GET", "");
    cr_expect_eq(got.status, 302);
    cr_expect_eq(rig.requests, 1);
}

Test(out, chunks_are_put_together)
{
    rig.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    call("GET", "");
    cr_expect(got.n == 5 && memcmp(body, "abcde", 5) == 0);
}

Test(out, what_is_packed_stays_packed)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc";
    call("GET", "");
    cr_expect(got.n == 3 && memcmp(body, "abc", 3) == 0);
}

Test(out, an_address_that_is_not_public_sees_no_connection)
{
    char url[128];

    snprintf(url, sizeof(url), "http://%s", rig.addr);
    make_target(url, NULL);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_REFUSED);
    snprintf(url, sizeof(url), "http://localhost%s", strchr(rig.addr, ':'));
    make_target(url, "10.0.0.0/8");
    call("GET", "");
    cr_expect_eq(got.fault, CALL_REFUSED);
    cr_expect_eq(rig.connections, 0);
    make_target(url, "127.0.0.0/8");
    call("GET", "");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
}

Test(out, a_target_that_hangs_costs_its_deadline)
{
    rig.answer = NULL;
    cr_assert_neq(send_one("GET", "", 200), NULL);
    WAIT(answers == 1);
    cr_expect_eq(got.fault, CALL_TIMEOUT, "%s", call_fault_word(got.fault));
    cr_expect_geq(got.ms, 199);
}

Test(out, a_kept_connection_that_hangs_has_been_sent_the_request)
{
    unsigned before;

    call("POST", "one");
    rig.answer = NULL;
    before = answers;
    cr_assert_neq(send_one("POST", "two", 200), NULL);
    WAIT(answers > before);
    cr_expect_eq(rig.connections, 1);
    cr_expect_eq(got.fault, CALL_TIMEOUT, "%s", call_fault_word(got.fault));
}

Test(out, a_target_that_drips_costs_its_deadline)
{
    rig.answer = "HTTP/1.1 200 OK\r\n\r\n";
    rig.drips = true;
    cr_assert_neq(send_one("GET", "", 300), NULL);
    WAIT(answers == 1);
    cr_expect_eq(got.fault, CALL_TIMEOUT);
}

Test(out, a_connection_that_ends_amid_the_answer_is_no_answer)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc";
    rig.closes = true;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_RESET);
    rig.answer = "garbage\r\n\r\n";
    call("GET", "");
    cr_expect_eq(got.fault, CALL_RESET);
}

Test(out, a_head_without_end_is_too_long)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "HTTP/1.1 200 OK\r\n");
    for (unsigned i = 0; i < 9000; i++)
        buf_printf(&b, "x-%u: y\r\n", i);
    buf_byte(&b, 0);
    rig.answer = (const char *)b.data;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_TOO_LONG);
    buf_fini(&b);
}

Test(out, of_a_long_answer_the_beginning_is_kept_and_all_is_hashed)
{
    struct buf b;
    uint8_t hash[RESULT_SHA256];
    size_t head;

    buf_init(&b);
    buf_str(&b, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    head = b.len;
    for (unsigned i = 0; i < 100000; i++)
        buf_byte(&b, (uint8_t)(i % 251));
    rig.answer = (const char *)b.data;
    rig.answer_n = b.len;
    call("GET", "");
    cr_assert_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.n, 65536);
    cr_expect_eq(got.length, 100000);
    crypto_hash_sha256(hash, b.data + head, 100000);
    cr_expect_arr_eq(hash, got.sha256, sizeof(hash));
    cr_expect_arr_eq(body, b.data + head, 65536);
    buf_fini(&b);
}

Test(out, nobody_listens_there)
{
    target_fini(&rig);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_CONNECT, "%s", call_fault_word(got.fault));
}

Test(out, without_a_descriptor_it_is_not_the_target_that_failed)
{
    struct rlimit was, low;
    int next = dup(0);

    cr_assert(next >= 0 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, &was) == 0);
    low = was;
    low.rlim_cur = (rlim_t)next;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    call("GET", "");
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    cr_expect_eq(got.fault, CALL_LOCAL, "%s", call_fault_word(got.fault));
}

static void with_60_connections(void)
{
    struct rlimit low = { 160, 160 };

    out_target_free(target);
    out_free(out);
    target = NULL;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    cr_assert_eq(out_new(&out, ev, &(struct err){ 0 }), 0);
    target_url();
}

Test(out, connections_leave_descriptors_to_others)
{
    int fd;

    with_60_connections();
    rig.answer = NULL;
    for (unsigned i = 0; i < 200; i++)
        cr_assert_neq(send_one("GET", "", 300), NULL);
    ev_turn(ev, false);
    fd = dup(0);
    cr_expect_geq(fd, 0);
    close(fd);
    WAIT(answers == 200);
}

Test(out, a_kept_connection_that_has_ended_is_replaced)
{
    call("POST", "one");
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        target_hang_up(&rig.conn[i]); /* in this very turn: the loop has not seen it */
    call("POST", "two");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect(rig.connections == 2 && rig.requests == 2);
}

Test(out, a_kept_connection_that_says_what_nobody_asked_for_is_not_used)
{
    rig.answer = OK "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    call("POST", "one");
    rig.answer = OK;
    call("POST", "two");
    cr_expect(got.n == 5 && memcmp(body, "hello", 5) == 0);
    cr_expect_eq(rig.connections, 2);
}

Test(out, an_answer_may_come_before_the_request_is_sent)
{
    struct buf b;

    buf_init(&b);
    cr_assert_neq(buf_reserve(&b, 8000001), NULL);
    memset(b.data, 'x', 8000000);
    b.data[8000000] = 0;
    rig.hasty = true;
    rig.answer = "HTTP/1.1 413 Long\r\nContent-Length: 2\r\n\r\nno";
    call("POST", (const char *)b.data);
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.status, 413);
    WAIT(rig.closed == 1);
    buf_fini(&b);
}

/* When others end, which never had one. */
Test(out, calls_that_wait_for_a_connection_cost_nothing)
{
    clock_t from;

    with_60_connections();
    rig.answer = NULL;
    for (unsigned i = 0; i < 12000; i++)
        cr_assert_neq(send_one("POST", "x", i < 6000 ? 400 : 60000), NULL);
    from = clock();
    while (answers < 6000)
        ev_turn(ev, true);
    for (unsigned i = 0; i < 3; i++)
        ev_turn(ev, false);
    cr_expect_lt(clock() - from, CLOCKS_PER_SEC / 4, "6000 x 6000 steps");
}

Test(out, more_calls_than_connections_wait_for_one)
{
    with_60_connections();
    for (unsigned i = 0; i < 200; i++)
        cr_assert_neq(send_one("POST", "x", 5000), NULL);
    WAIT(answers == 200);
    cr_expect(rig.requests == 200 && got.fault == CALL_NONE);
    cr_expect_eq(rig.connections, 60, "three of eight descriptors");
}

/* A second target, beside `target`, at a machine of its own. */
static struct targetrig rig2;

static struct out_target *second_target(void)
{
    struct out_target *first = target;
    char url[128];

    target_init(&rig2, ev);
    rig2.answer = OK;
    snprintf(url, sizeof(url), "http://%s", rig2.addr);
    target = NULL;
    make_target(url, "127.0.0.0/8");
    return first;
}

static void end_second(struct out_target *first)
{
    out_target_free(target);
    target = first;
    target_fini(&rig2);
}

Test(out, a_slow_target_with_many_calls_does_not_stand_before_others)
{
    struct out_target *first;

    with_60_connections();
    rig.answer = NULL;
    for (unsigned i = 0; i < 200; i++)
        cr_assert_neq(send_one("POST", "x", i < 60 ? 300 : 60000), NULL);
    first = second_target();
    cr_assert_neq(send_one("POST", "x", 30000), NULL);
    WAIT(answers == 61);
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(rig2.requests, 1);
    end_second(first);
}

Test(out, the_connection_kept_longest_gives_way)
{
    struct out_target *first, *third;
    unsigned before;

    with_60_connections();
    call("POST", "x");
    first = second_target();
    before = answers;
    for (unsigned i = 0; i < 59; i++)
        cr_assert_neq(send_one("POST", "x", 5000), NULL);
    WAIT(answers == before + 59);
    third = target;
    target = first;
    call("POST", "x");
    target = NULL;
    target_url(); /* another one at the first machine */
    call("POST", "x");
    cr_expect_eq(rig.connections, 2);
    WAIT(rig2.closed == 1);
    cr_expect_eq(rig.closed, 0, "its connection was used last");
    out_target_free(target);
    target = third;
    end_second(first);
}

Test(out, a_call_by_libcurl_that_gets_no_connection_is_not_the_targets_fault)
{
    struct out_rules r = { .connect_ms = 1000, .proxy = "",
                           .by_curl = true };
    char url[128];

    with_60_connections();
    rig.answer = NULL;
    snprintf(url, sizeof(url), "http://%s", rig.addr);
    r.url = url;
    cr_assert(ip_net_parse(&r.allow[r.n_allow++], "127.0.0.0/8"));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &(struct err){ 0 }), 0);
    for (unsigned i = 0; i < 60; i++)
        cr_assert_neq(send_one("POST", "x", 60000), NULL);
    WAIT(rig.requests == 60);
    cr_assert_neq(send_one("POST", "x", 200), NULL);
    WAIT(answers == 1);
    cr_expect_eq(got.fault, CALL_LOCAL, "%s: %s", call_fault_word(got.fault), got.why);
    cr_expect_str_eq(got.why, "no connection became free before its deadline");
}

Test(out, a_name_that_nobody_has)
{
    make_target("http://nobody.invalid:80", NULL);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_DNS, "%s", call_fault_word(got.fault));
}

Test(out, a_cancelled_call_closes_its_connection)
{
    struct out_call *c;

    rig.answer = NULL;
    c = send_one("GET", "", 5000);
    WAIT(rig.requests == 1);
    out_cancel(c);
    WAIT(rig.closed == 1);
    cr_expect_eq(answers, 0);
}

Test(out, what_is_not_wanted_any_more_does_not_leave)
{
    wanted = false;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_LOCAL);
    cr_expect_eq(rig.requests, 0);
}

Test(out, many_at_once_have_each_its_answer)
{
    for (unsigned i = 0; i < 40; i++)
        cr_assert_neq(send_one("POST", "x", 5000), NULL);
    WAIT(answers == 40);
    cr_expect_eq(rig.requests, 40);
}

/* ---- addresses, urls --------------------------------------------------------------- */

static bool lets(const char *text)
{
    struct ip ip;

    cr_assert(ip_parse(&ip, text, strlen(text)), "%s", text);
    return ssrf_lets(&ip, NULL, 0);
}

Test(ssrf, only_public_addresses_are_reached)
{
    static const char *const closed[] = {
        "0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.2.1",
        "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1",
        "255.255.255.255", "168.63.129.16", "100.100.100.200", "::", "::1", "::7f00:1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "100::1",
    };
    static const char *const open[] = { "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255",
                                        "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1",
                                        "223.255.255.255", "2606:4700::1111", "2a00::1",
                                        "64:ff9b::101:101", "2002:101:101::1",
                                        "::ffff:1.1.1.1" };

    for (unsigned i = 0; i < ARRAY_LEN(closed); i++)
        cr_expect_not(lets(closed[i]), "%s", closed[i]);
    for (unsigned i = 0; i < ARRAY_LEN(open); i++)
        cr_expect(lets(open[i]), "%s", open[i]);
}

Test(ssrf, allow_opens_exactly_its_networks)
{
    struct ip_net allow[1];
    struct ip in, beside;

    cr_assert(ip_net_parse(&allow[0], "10.1.0.0/16"));
    cr_assert(ip_parse(&in, "10.1.255.1", 10));
    cr_assert(ip_parse(&beside, "10.2.0.1", 8));
    cr_expect(ssrf_lets(&in, allow, 1));
    cr_expect_not(ssrf_lets(&beside, allow, 1));
}

Test(url, parts_of_good_ones)
{
    struct url u;

    cr_assert_null(url_parse(&u, "https://gen.internal/api/"));
    cr_expect(u.tls && u.port == 443);
    cr_expect_str_eq(u.host, "gen.internal");
    cr_expect_str_eq(u.path, "/api");
    cr_assert_null(url_parse(&u, "http://[::1]:8080"));
    cr_expect(!u.tls && u.port == 8080);
    cr_expect_str_eq(u.host, "::1");
    cr_expect_str_eq(u.path, "");
}

Test(url, what_is_none_is_refused)
{
    static const char *const bad[] = { "", "gen", "ftp://a", "http://", "http://u@h", "http://a:b@h",
                                       "http://h:0", "http://h:65536", "http://h:", "http://h/?q",
                                       "http://h#f", "http://h/a b", "http://h\\x", "http://[::1",
                                       "http://h\r\nx" };
    struct url u;

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not_null(url_parse(&u, bad[i]), "%s", bad[i]);
}

/* ---- proxies, TLS ------------------------------------------------------------------ */

Test(out, a_proxy_is_told_the_whole_url_and_looks_the_name_up)
{
    struct out_rules r = { .url = "http://gen.invalid:81/api", .connect_ms = 1000 };
    struct err e = { 0 };
    char proxy[128];

    snprintf(proxy, sizeof(proxy), "http://%s", rig.addr);
    r.proxy = proxy;
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
    call("GET", "");
    cr_expect_eq(got.status, 200, "%s", got.why);
    cr_expect_eq(strncmp(rig.last, "GET http://gen.invalid:81/api/p?q=1 HTTP/1.1\r\n", 46), 0, "%s",
                 rig.last);
}

Test(out, no_proxy_of_the_environment_does_not_open_a_way_past_the_proxy)
{
    struct out_rules r = { .url = "http://127.0.0.1:1", .connect_ms = 1000 };
    struct err e = { 0 };
    char proxy[128];

    cr_assert_eq(setenv("no_proxy", "*", 1), 0);
    snprintf(proxy, sizeof(proxy), "http://%s", rig.addr);
    r.proxy = proxy;
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(strncmp(rig.last, "GET http://127.0.0.1:1/p?q=1 ", 29), 0, "%s", rig.last);
}

static char tls_dir[64];
static pid_t tls_pid;
static unsigned tls_port;

static void sh(const char *format, ...)
{
    char text[1024], line[1200];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    snprintf(line, sizeof(line), "cd %s && %s", tls_dir, text);
    cr_assert_eq(system(line), 0, "%s", line);
}

/* A CA, and a certificate of "localhost" for so many days by it. */
static void certify(const char *days)
{
    strcpy(tls_dir, "/tmp/test_out.XXXXXX");
    cr_assert_not_null(mkdtemp(tls_dir));
    sh("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca -days 2"
       " -keyout ca.key -out ca.pem 2>/dev/null");
    sh("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost"
       " -addext subjectAltName=DNS:localhost -keyout s.key -out s.csr 2>/dev/null");
    sh("openssl x509 -req -in s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days %s"
       " -copy_extensions copy -out s.pem 2>/dev/null", days);
}

static void serve(const char *verify)
{
    struct net_addr a;
    char port[8], addr[NET_TEXT_MAX];
    msec_t end = ev_now(ev) + 5000;
    int fd;

    fd = net_listen("127.0.0.1:0", false, 1, NULL); /* a port that is free */
    cr_assert_geq(fd, 0);
    net_local_text(fd, addr);
    close(fd);
    snprintf(port, sizeof(port), "%s", strchr(addr, ':') + 1);
    tls_port = (unsigned)atoi(port);
    tls_pid = fork();
    if (tls_pid == 0) {
        cr_assert_eq(chdir(tls_dir), 0);
        execlp("openssl", "openssl", "s_server", "-quiet", "-www", "-accept", port, "-cert", "s.pem",
               "-key", "s.key", "-CAfile", "ca.pem", verify[0] != 0 ? "-Verify" : "-quiet",
               verify[0] != 0 ? verify : NULL, NULL);
        _exit(127);
    }
    cr_assert_eq(net_parse(&a, addr, NULL), 0);
    do {
        usleep(10000);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, &a.sa, a.len) == 0)
            break;
        close(fd);
        fd = -1;
    } while (ev_read_mono_us() / 1000 < end);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void tls_end(void)
{
    kill(tls_pid, SIGKILL);
    waitpid(tls_pid, NULL, 0);
    sh("rm -r %s", tls_dir);
}

static struct call_span pem(char text[4096], const char *name, bool is_wanted)
{
    char path[96];
    int64_t n;

    snprintf(path, sizeof(path), "%s/%s", tls_dir, name);
    n = is_wanted ? file_read(path, FILE_ANY, text, 4096, NULL, NULL) : 0;
    cr_assert_geq(n, 0);
    return (struct call_span){ text, (size_t)n };
}

static void tls_call(const char *host, bool ca, bool cert)
{
    static char texts[3][4096];
    char url[64];
    struct out_rules r = { .url = url, .connect_ms = 3000, .n_allow = 1, .proxy = "",
                           .ca = pem(texts[0], "ca.pem", ca), .cert = pem(texts[1], "s.pem", cert),
                           .key = pem(texts[2], "s.key", cert) };
    struct err e = { 0 };

    snprintf(url, sizeof(url), "https://%s:%u", host, tls_port);
    cr_assert(ip_net_parse(&r.allow[0], "127.0.0.0/8"));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
    call("GET", "");
}

Test(out, a_certificate_must_be_of_the_ca_and_of_the_host)
{
    certify("2");
    serve("");
    tls_call("localhost", true, false);
    cr_expect_eq(got.status, 200, "%s", got.why);
    tls_call("localhost", false, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_call("127.0.0.1", true, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_end();
}

/* CPU of ten calls, each over a connection of its own, with so many copies of the authority. */
static double cost_of(unsigned copies)
{
    char one[4096], url[64];
    struct call_span ca = pem(one, "ca.pem", true);
    struct out_rules r = { .url = url, .connect_ms = 3000, .n_allow = 1, .proxy = "" };
    struct buf all;
    clock_t began;

    buf_init(&all);
    for (unsigned i = 0; i < copies; i++)
        buf_append(&all, ca.p, ca.n);
    r.ca = (struct call_span){ (const char *)all.data, all.len };
    snprintf(url, sizeof(url), "https://localhost:%u", tls_port);
    cr_assert(ip_net_parse(&r.allow[0], "127.0.0.0/8"));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, NULL), 0);
    call("GET", "");
    began = clock();
    for (unsigned i = 0; i < 10; i++) {
        call("GET", "");
        cr_assert_eq(got.status, 200, "%s", got.why);
    }
    began = clock() - began;
    out_target_free(target);
    target = NULL;
    buf_fini(&all);
    return (double)began / CLOCKS_PER_SEC;
}

/* libcurl would parse them for each connection: 40 ms of the loop, of a bundle of all public ones. */
Test(out, many_authorities_cost_a_connection_nothing)
{
    double one, many;

    certify("2");
    serve("");
    one = cost_of(1);
    many = cost_of(300);
    cr_expect_lt(many, 3 * one + 0.05, "%f s of CPU, not %f", many, one);
    tls_end();
}

/* libcurl is told of the first one alone. */
Test(out, each_authority_of_a_file_counts)
{
    certify("2");
    sh("mv ca.pem right.pem && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other"
       " -days 2 -keyout other.key -out other.pem 2>/dev/null && cat other.pem right.pem >ca.pem");
    serve("");
    tls_call("localhost", true, false);
    cr_expect_eq(got.status, 200, "%s", got.why);
    sh("cp other.pem ca.pem");
    tls_call("localhost", true, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_end();
}

static int refused(const char *ca, const char *cert, const char *key, struct err *e)
{
    static char texts[3][4096];
    struct out_rules r = { .url = "https://localhost", .proxy = "", .ca = pem(texts[0], ca, ca[0] != 0),
                           .cert = pem(texts[1], cert, cert[0] != 0), .key = pem(texts[2], key, key[0] != 0) };
    struct out_target *t = NULL;
    int rc = out_target_new(&t, out, &r, e);

    out_target_free(t);
    return rc;
}

/* Files that are replaced one after the other: until both have come, what was before counts. */
Test(out, a_certificate_and_a_key_that_do_not_belong_together_make_no_target)
{
    struct err e = { 0 };

    certify("2");
    cr_expect_eq(refused("", "s.pem", "s.key", &e), 0, "%s", e.text);
    cr_expect_eq(refused("", "s.pem", "ca.key", &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "tls.cert_file and tls.key_file do not belong together");
    cr_expect_eq(refused("", "s.key", "s.key", &e), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "tls.cert_file"), "%s", e.text);
    cr_expect_eq(refused("", "s.pem", "s.pem", &e), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "tls.key_file"), "%s", e.text);
    cr_expect_eq(refused("s.key", "", "", &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "tls.ca_file: no certificate is in it");
    sh("head -c 300 ca.pem >half.pem");
    cr_expect_eq(refused("half.pem", "", "", &e), SQ_EINVAL, "half written");
    sh("rm -r %s", tls_dir);
}

Test(out, an_expired_certificate_is_none)
{
    certify("-1");
    serve("");
    tls_call("localhost", true, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_end();
}

Test(out, a_certificate_of_ours_is_shown_where_it_is_wanted)
{
    certify("2");
    serve("1");
    tls_call("localhost", true, false);
    cr_expect_neq(got.fault, CALL_NONE);
    tls_call("localhost", true, true);
    cr_expect_eq(got.status, 200, "%s", got.why);
    tls_end();
}

Test(out, header_fields_beyond_the_bound_are_left_out_and_that_is_said)
{
    static char answer[8192];
    int at = sprintf(answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-RateLimit-A: ");

    memset(answer + at, 'v', 4000);
    sprintf(answer + at + 4000, "\r\nX-RateLimit-B: %0200d\r\nETag: 1\r\n\r\n", 1);
    rig.answer = answer;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect(got.fields_cut);
    cr_expect_eq(got.fields.n, 2 + 13 + 1 + 4000 + 1 + 4 + 1 + 1, "the long one, and the short one behind");
}

Test(out, an_operator_may_let_more_header_fields_pass)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Shop: 1\r\nX-Shop-B: 2\r\n\r\n";
    call("GET", "");
    cr_expect_eq(got.fields.n, 0);
    cr_assert_eq(out_pass(out, "X-Shop", NULL), 0);
    call("GET", "");
    cr_expect_eq(got.fields.n, 1 + 6 + 1 + 1);
}
