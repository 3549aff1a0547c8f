/* test_monitor.c: pollers against a server in the same loop that answers, hangs, redirects,
 * talks too much. */
#include "queuemng/monitor/monitor.h"
#include "queuemng/process/config.h"

#include "tests/lib/criterion.h"
#include <event2/buffer.h>
#include <event2/http.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/dnsrig.h"

enum mode { GOOD, NAN_VALUE, LARGEST, HANG, REDIRECT, ERROR_500, BIG, MODES };

#define BODY_MAX (1u << 20) /* of an answer that is read */

struct rig {
    struct ev *ev;
    struct evhttp *server;
    uint16_t port;
    enum mode mode;
    struct mng_cfg cfg;
    struct monitor *m;
    unsigned asked, readings, failures;
    double value;
    msec_t taken_ms;
    char why[400], target[300];
};

static void answer(struct evhttp_request *req, void *arg)
{
    static char big[BODY_MAX + 1000], blanks[BODY_MAX];
    struct rig *g = arg;
    struct evbuffer *b = evbuffer_new();

    g->asked++;
    snprintf(g->target, sizeof(g->target), "%s", evhttp_request_get_uri(req));
    if (strncmp(g->target, "/prom/api", 9) == 0)
        evbuffer_add_printf(b, "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\","
                            "\"result\":[%.3f,\"%s\"]}}", (double)ev_wall_ms(g->ev) / 1000,
                            g->mode == NAN_VALUE ? "NaN" : "42");
    else
        evbuffer_add_printf(b, "x_total{a=\"1\"} %u\nx_total{a=\"2\"} 9\n", 100 * g->asked);
    if (g->mode == BIG)
        evbuffer_add(b, big, sizeof(big));
    if (g->mode == LARGEST)
        evbuffer_add(b, memset(blanks, ' ', BODY_MAX), BODY_MAX - evbuffer_get_length(b));
    if (g->mode == REDIRECT)
        evhttp_add_header(evhttp_request_get_output_headers(req), "Location", "/other");
    if (g->mode != HANG)
        evhttp_send_reply(req, g->mode == REDIRECT ? 302 : g->mode == ERROR_500 ? 500 : 200,
                          "x", b);
    evbuffer_free(b);
}

static void on_reading(void *ctx, const char *metric, double value, msec_t taken_ms)
{
    struct rig *g = ctx;

    cr_expect_str_eq(metric, "m");
    g->readings++;
    g->value = value;
    g->taken_ms = taken_ms;
}

static void on_failed(void *ctx, const char *metric, const char *why)
{
    struct rig *g = ctx;

    (void)metric;
    g->failures++;
    snprintf(g->why, sizeof(g->why), "%s", why);
}

static void watch(struct rig *g, const char *metric)
{
    static const struct monitor_calls calls = { on_reading, on_failed };
    const char *sets[1];
    char set[500];
    struct err e;

    memset(g, 0, sizeof(*g));
    (void)signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(ev_new(&g->ev, &e), 0);
    g->server = evhttp_new(ev_base(g->ev));
    for (g->port = 20000 + (uint16_t)(getpid() % 20000);
         evhttp_bind_socket(g->server, "127.0.0.1", g->port) != 0; g->port++)
        ;
    evhttp_set_gencb(g->server, answer, g);
    snprintf(set, sizeof(set), metric, g->port);
    sets[0] = set;
    cr_assert_eq(cfg_load(&g->cfg, sizeof(g->cfg), mng_keys, NULL, sets, 1, &e), 0, "%s",
                 e.text);
    cr_assert_eq(mng_cfg_check(&g->cfg, &e), 0, "%s", e.text);
    cr_assert_eq(monitor_new(&g->m, g->ev, g->cfg.metrics.v, g->cfg.metrics.n, &calls, g, &e),
                 0, "%s", e.text);
}

static void wake(void *arg)
{
    (void)arg;
}

static void run(struct rig *g, msec_t ms, const unsigned *until, unsigned n)
{
    struct ev_timer *t = ev_timer_new(g->ev, wake, NULL);
    msec_t end = ev_now(g->ev) + ms;

    while (ev_now(g->ev) < end && (until == NULL || *until < n)) {
        ev_timer_at(t, ev_now(g->ev) + 20);
        ev_turn(g->ev, true);
    }
    ev_timer_free(t);
}

static void done(struct rig *g)
{
    monitor_free(g->m);
    ev_turn(g->ev, false);
    evhttp_free(g->server);
    ev_free(g->ev);
    cfg_clear(&g->cfg, mng_keys);
}

#define WAIT_MS 60000 /* of a slow machine */
#define PROM_OF(timeout, stale)                                                          \
    "metrics=[{name: m, kind: prometheus, url: 'http://localhost:%u/prom/', query: 'a + b'," \
    " interval: 100ms, timeout: " timeout ", stale: " stale ", max: 100}]"
#define PROM PROM_OF("10s", "15s")

Test(monitor, reads_a_prometheus)
{
    struct rig g;

    watch(&g, PROM);
    run(&g, WAIT_MS, &g.readings, 3);
    cr_expect_geq(g.readings, 3);
    cr_expect_eq(g.value, 42);
    cr_expect_leq(llabs(g.taken_ms - ev_now(g.ev)), WAIT_MS);
    cr_expect_str_eq(g.target, "/prom/api/v1/query?query=a%20%2B%20b");
    cr_expect_eq(g.failures, 0);
    done(&g);
}

Test(monitor, a_senseless_reading_is_reported_at_once)
{
    struct rig g;

    watch(&g, PROM);
    run(&g, WAIT_MS, &g.readings, 1);
    g.mode = NAN_VALUE;
    run(&g, WAIT_MS, &g.failures, 1);
    cr_expect(strstr(g.why, "nan") != NULL, "%s", g.why);
    g.mode = GOOD;
    g.readings = 0;
    run(&g, WAIT_MS, &g.readings, 1);
    cr_expect_eq(g.readings, 1);
    done(&g);
}

Test(monitor, the_largest_answer_is_read)
{
    struct rig g;

    watch(&g, PROM);
    g.mode = LARGEST;
    run(&g, WAIT_MS, &g.readings, 2);
    cr_expect_geq(g.readings, 2);
    cr_expect_eq(g.failures, 0, "%s", g.why);
    done(&g);
}

Test(monitor, a_silent_monitor_is_reported_when_stale)
{
    static const char *const why[MODES] = { [HANG] = "in time", [REDIRECT] = "HTTP 302",
                                            [ERROR_500] = "HTTP 500", [BIG] = "too big" };
    for (enum mode mode = HANG; mode < MODES; mode++) {
        struct rig g;

        /* who answers is given the time to do it */
        watch(&g, mode == HANG ? PROM_OF("150ms", "500ms") : PROM_OF("10s", "500ms"));
        run(&g, WAIT_MS, &g.readings, 2);
        cr_expect_geq(g.readings, 2);
        g.mode = mode;
        g.failures = 0;
        run(&g, WAIT_MS, &g.failures, 1);
        cr_expect_geq(ev_now(g.ev) - g.taken_ms, 450, "mode %d: the last value did not hold",
                      mode);
        cr_expect(strstr(g.why, why[mode]) != NULL, "mode %d: %s", mode, g.why);
        done(&g); /* also with a request under way */
    }
}

Test(monitor, a_page_and_its_counter)
{
    struct rig g;

    watch(&g, "metrics=[{name: m, kind: page, url: 'http://127.0.0.1:%u/metrics?x=1', query: "
              "x_total, labels: a=1, counter_rate: true, interval: 100ms}]");
    for (unsigned n = 2; n < 100 && !(g.value > 300 && g.value < 3000); n++)
        run(&g, WAIT_MS, &g.readings, n); /* one of them when the machine has time */
    cr_expect_str_eq(g.target, "/metrics?x=1");
    cr_expect(g.value > 300 && g.value < 3000, "100 more every 100 ms: %g", g.value);
    done(&g);
}

Test(monitor, nobody_listens)
{
    struct rig g;

    watch(&g, "metrics=[{name: m, kind: page, url: 'http://127.0.0.1:1/%u', query: x}]");
    run(&g, WAIT_MS, &g.failures, 1);
    cr_expect_eq(g.failures, 1);
    done(&g);
}

static void proc(const char *metric, double least, double most)
{
    struct rig g;

    watch(&g, metric);
    run(&g, WAIT_MS, &g.readings, 2);
    cr_expect_geq(g.readings, 2, "%s: %s", metric, g.why);
    cr_expect(g.value >= least && g.value <= most, "%s: %g", metric, g.value);
    done(&g);
}

Test(monitor, proc_of_machine_and_processes)
{
    struct rig g;

    proc("metrics=[{name: m, what: cpu, interval: 100ms}]", 0, 100);
    proc("metrics=[{name: m, what: memory, interval: 100ms}]", 0.1, 100);
    proc("metrics=[{name: m, process: test_monitor, interval: 100ms}]", 0, 10000);
    proc("metrics=[{name: m, what: memory, process: test_monitor, interval: 100ms}]", 0.0001,
         1000);
    watch(&g, "metrics=[{name: m, process: no_such_one}]");
    run(&g, WAIT_MS, &g.failures, 1);
    cr_expect(strstr(g.why, "no_such_one") != NULL, "%s", g.why);
    done(&g);
}

Test(monitor, unusable_metrics_are_refused)
{
    static const char *const bad[] = {
        "metrics=[{name: m, kind: page, url: 'https://a/', query: x}]",
        "metrics=[{name: m, kind: page, url: 'http://a/'}]",
        "metrics=[{name: m, process: a, pid_file: b}]",
        "metrics=[{name: m}, {name: m}]",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct mng_cfg c = { 0 };
        struct err e;

        cr_assert_eq(cfg_load(&c, sizeof(c), mng_keys, NULL, &bad[i], 1, &e), 0);
        cr_expect_lt(mng_cfg_check(&c, &e), 0, "%s", bad[i]);
        cfg_clear(&c, mng_keys);
    }
}

Test(monitor, a_new_name_server_is_asked_without_a_restart)
{
    struct dnsrig silent, good;
    struct rig g;

    watch(&g, "metrics=[{name: m, kind: prometheus, url: 'http://prom.test:%u/prom/', query: 'a + b',"
              " interval: 100ms, timeout: 200ms, stale: 500ms, max: 100}]");
    dns_init(&silent, g.ev, 1);
    dns_init(&good, g.ev, 1);
    silent.silent = true;
    dns_use(&silent);
    run(&g, WAIT_MS, &g.failures, 1);
    cr_expect_gt(silent.asked, 0);
    cr_expect(strstr(g.why, "name server") != NULL, "%s", g.why);
    dns_use(&good);
    run(&g, WAIT_MS, &g.readings, 2);
    cr_expect_geq(g.readings, 2);
    dns_fini(&silent);
    dns_fini(&good);
    done(&g);
    dns_files_fini();
}
