/* test_cfg_start.c: what -t lets pass is what the start takes: names of nodes, addresses to
 * dial, ports that two servers of one process want, metrics. Of every program. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/config/cfg_check.h"
#include "common/supervisor/cluster_args.h"
#include "queuemng/process/config.h"
#include "router/state/cfg.h"
#include "segment/service/service.h"

static const struct cfg_key rt_keys[] = {
    CLUSTER_KEYS("router", "0.0.0.0:8080", "0", "127.0.0.1:7100", "127.0.0.1:7070", "auto")
};
static const struct cluster_kind rt = { .child = "router", .shares_port = true };

static int rt_check(const void *cfg, struct err *e)
{
    return cluster_check(&rt, cfg, e);
}

static const struct program {
    const char *name;
    const struct cfg_key *keys;
    size_t size;
    int (*check)(const void *cfg, struct err *e);
} programs[] = {
    { "router", router_keys, sizeof(struct router_cfg), router_cfg_check },
    { "segment", seg_cfg_keys, sizeof(struct seg_cfg), node_cfg_check },
    { "queuemng", mng_keys, sizeof(struct mng_cfg), mng_cfg_check },
    { "rt_cluster", rt_keys, sizeof(struct cluster_cfg), rt_check },
};

/* 0: good; else *e says why not. */
static int load(const char *program, const char *set, struct err *e)
{
    _Alignas(16) char cfg[4096] = { 0 };
    const struct program *p = programs;
    int rc;

    while (strcmp(p->name, program) != 0)
        p++;
    cr_assert_leq(p->size, sizeof(cfg));
    rc = cfg_load(cfg, p->size, p->keys, NULL, &set, set[0] != '\0', e);
    if (rc == 0)
        rc = p->check(cfg, e);
    cfg_clear(cfg, p->keys);
    return rc;
}

static void good(const char *program, const char *set)
{
    struct err e = { 0 };

    cr_expect_eq(load(program, set, &e), 0, "%s %s: %s", program, set, e.text);
}

static void bad(const char *program, const char *set)
{
    size_t n = strcspn(set, "=");
    struct err e = { 0 };
    char key[40];

    n -= set[n - 1] == 's'; /* one of the metrics is a metric */
    snprintf(key, sizeof(key), "%.*s", (int)n, set);
    cr_expect_lt(load(program, set, &e), 0, "%s %s", program, set);
    cr_expect_neq(strstr(e.text, key), NULL, "%s is named: %s", key, e.text);
}

Test(cfg_start, bad_node_names_are_refused)
{
    static const char *const no[] = { "node=a b", "node=a/b", "node=-a", "node=.a", "node=",
                                      "node=\xc3\xa9", "node=a\tb", "node=a\"b" };
    static const char *const yes[] = { "node=a", "node=R-1.example_x", "node=0" };

    for (size_t p = 0; p < 3; p++) {
        good(programs[p].name, "");
        for (size_t i = 0; i < ARRAY_LEN(no); i++)
            bad(programs[p].name, no[i]);
        for (size_t i = 0; i < ARRAY_LEN(yes); i++)
            good(programs[p].name, yes[i]);
    }
}

Test(cfg_start, managers_are_addresses_to_dial)
{
    static const char *const no[] = { "managers=1,2", "managers=a", "managers=a:", "managers=:7",
                                      "managers=*:7", "managers=a:0", "managers=0.0.0.0:7",
                                      "managers=a b:7", "managers=::1:7", "managers=[::]:7",
                                      "managers=a:70000", "managers=[xyz]:7",
                                      "managers=a:7,b" };
    static const char *const of[] = { "router", "segment", "rt_cluster" };

    for (size_t p = 0; p < ARRAY_LEN(of); p++) {
        for (size_t i = 0; i < ARRAY_LEN(no); i++)
            bad(of[p], no[i]);
        good(of[p], "managers=a.example:7,[::1]:7,[fe80::1%eth0]:7,10.0.0.1:65535");
    }
}

Test(cfg_start, advertised_addresses_must_be_dialable)
{
    bad("segment", "advertise=*:7");
    bad("segment", "advertise=a:0");
    good("segment", "advertise=a:7");
    bad("queuemng", "redis=a b:6379");
    bad("queuemng", "redis=:6379");
    bad("queuemng", "redis_sentinels=/socket");
    good("queuemng", "redis=/run/redis.sock,a:6379");
}

Test(cfg_start, proxies_of_the_admin_port_are_addresses_and_sign_out_is_a_page)
{
    static const char *const no[] = { "admin_trusted_proxies=10.0.0.1/8", "admin_trusted_proxies=proxy",
                                      "admin_trusted_proxies=10.0.0.0/33", "admin_sign_out_url=javascript:x",
                                      "admin_sign_out_url=//evil.example", "admin_sign_out_url=/\\evil.example",
                                      "admin_sign_out_url=bye", "admin_sign_out_url=/a b" };

    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        bad("queuemng", no[i]);
    good("queuemng", "admin_trusted_proxies=10.0.0.9,2001:db8::/64,127.0.0.1");
    good("queuemng", "admin_sign_out_url=/oauth2/sign_out?rd=%2F");
    good("queuemng", "admin_sign_out_url=https://login.example/out");
}

Test(cfg_start, a_wildcard_listener_needs_advertise)
{
    struct err e = { 0 };

    for (size_t i = 0; i < 4; i++) {
        static const char *const any[] = { "listen=*:7200", "listen=:7200",
                                           "listen=0.0.0.0:7200", "listen=[::]:7200" };

        cr_expect_lt(load("segment", any[i], &e), 0, "%s", any[i]);
        cr_expect_neq(strstr(e.text, "advertise"), NULL, "%s", e.text);
    }
}

Test(cfg_start, listen_and_admin_need_different_ports)
{
    bad("router", "admin=127.0.0.1:8080");
    bad("segment", "admin=127.0.0.1:7200");
    bad("queuemng", "admin=:7070");
    good("segment", "admin=127.0.0.2:7200");
    good("segment", "admin=127.0.0.1:0");
}

Test(cfg_start, servers_need_an_address_that_is_theirs_alone)
{
    bad("router", "listen_tasks=:8081"); /* without task_tokens */
}

Test(cfg_start, metric_definitions_are_checked)
{
    bad("queuemng", "metrics=[{name: a, kind: prometheus, url: 'http://', query: x}]");
    bad("queuemng", "metrics=[{name: a, kind: page, url: 'http://a b/', query: x}]");
    bad("queuemng", "metrics=[{name: a, kind: page, url: 'http://a/', query: x, labels: 'x'}]");
    good("queuemng", "metrics=[{name: a, kind: page, url: 'http://[::1]:9/m?x=1', query: x, "
                     "labels: 'a=b'}]");
}

/* Says the refusal of two definitions of one kind. */
static void twice(const char *kind, const char *def, const char *why)
{
    struct err e = { 0 };
    char set[300];

    snprintf(set, sizeof(set), "%s=[%s]", kind, def);
    good("queuemng", set);
    snprintf(set, sizeof(set), "%s=[%s, %s]", kind, def, def);
    cr_expect_lt(load("queuemng", set, &e), 0, "%s", set);
    cr_expect_not_null(strstr(e.text, why), "%s: %s", set, e.text);
}

Test(cfg_start, definitions_of_every_kind_are_checked)
{
    static const char limits[] = "limits: [{metric: cup, tiers: [{below: 1, rate_per_s: 1}]}]";
    static const char *const heads[] = { "queues=[{name: a", "pools=[{match: a", "budgets=[{name: a" };

    twice("queues", "{name: a}", "queue a is listed twice");
    twice("pools", "{match: a}", "pool a is listed twice");
    twice("budgets", "{name: a, max_active: 1}", "budget a is listed twice");
    twice("endpoints", "{name: a, url: 'http://a.example'}", "endpoint a is listed twice");
    bad("queuemng", "budgets=[{name: a}]"); /* what a table cannot say */
    bad("queuemng", "endpoints=[{name: a, url: 'ftp://a.example'}]");
    bad("queuemng", "pools=[{match: a, retry: {min: 2s, max: 1s}}]");
    bad("queuemng", "queues=[{name: a, poll_min: 2s, poll_max: 1s}]");
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct err e = { 0 };
        char set[200];

        snprintf(set, sizeof(set), "%s, %s}]", heads[i], limits);
        cr_expect_lt(load("queuemng", set, &e), 0, "%s", set);
        cr_expect_not_null(strstr(e.text, "no metric cup"), "%s: %s", set, e.text);
    }
}
