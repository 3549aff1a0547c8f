/* test_gate.c: connections and requests to the address whose limits they count for. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "router/state/client_gate.h"

#define NOW 1000000

static struct gate g;
static char *ours[] = { (char[]) { "10.0.0.0/8" }, (char[]) { "::1" } };
static struct router_cfg cfg;
static unsigned warnings;

static void count_line(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    warnings += level == LOG_WARN && strstr(line, "refused addr=1.2.3.4") != NULL;
}

static void start(void)
{
    struct err e = { 0 };

    cfg = (struct router_cfg) { .admin_tls = { (char *)"", (char *)"" },
                                .tls = { TLS_REQUIRE, (char *)"", (char *)"", (char *)"", (char *)"" },
                                .node = (char *)"router.0",
                                .listen = (char *)"127.0.0.1:8080",
                                .admin = (char *)"127.0.0.1:9070",
                                .compat_time = (char *)"rfc3339",
                                .join_limit_per_s = 5,
                                .join_burst = 2,
                                .limit_table_entries = 1024,
                                .conns_per_addr = 3,
                                .trusted_proxies = { ours, ARRAY_LEN(ours) } };
    cr_assert_eq(router_cfg_check(&cfg, &e), 0, "%s", e.text);
    cr_assert_eq(gate_init(&g, &cfg, &e), 0, "%s", e.text);
    log_set_sink(count_line, NULL);
}

static void end(void)
{
    gate_fini(&g);
}

TestSuite(gate, .init = start, .fini = end);

/* The first moment of Unix time is a Thursday in January: a Wednesday in September is longer. */
Test(gate, a_layout_of_times_fits_on_every_day)
{
    static const struct {
        const char *layout;
        bool fits;
    } cases[] = {
        { "unix", true },
        { "%Y-%m-%d %H:%M:%S", true },
        { "%A %A %A %A %A %B", true }, /* 59 bytes at most */
        { "%A %A %A %A %A %A %B", false }, /* 61 bytes on that Thursday */
        { "%d %-d %A %A %A %A %A %B", false }, /* 63 bytes on a first of the month */
        { "now", false },
    };
    struct err e;

    cfg.compat = COMPAT_CLASSIC;
    cfg.task_tokens = (char *)"tokens";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        e = (struct err){ 0 };
        cfg.compat_time = (char *)(uintptr_t)cases[i].layout;
        cr_expect_eq(router_cfg_check(&cfg, &e), cases[i].fits ? 0 : SQ_EINVAL, "%s: %s",
                     cases[i].layout, e.text);
        cr_expect_eq(strstr(e.text, "of 1 to 63 bytes on each day") != NULL, !cases[i].fits, "%s", e.text);
    }
}

static bool conn(const char *from, uint64_t *tag)
{
    struct net_addr a;
    struct err e = { 0 };

    cr_assert_eq(net_parse(&a, from, &e), 0, "%s", e.text);
    return gate_conn(&g, &a, 0, tag);
}

static struct http_req request(const char *lines)
{
    static char text[2000];
    struct http_state st = { 0 };
    struct http_req q;
    int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);

    cr_assert_eq(http_parse(&st, &q, text, (size_t)n), n);
    return q;
}

/* The client that a request over this connection counts for, by its header lines. */
static limit_id client(uint64_t tag, const char *lines)
{
    struct http_req q = request(lines);

    gate_request(&g, tag, &q);
    return g.client;
}

static bool is_secure(bool sealed, uint64_t tag, const char *lines)
{
    struct http_req q = request(lines);

    return gate_is_secure(&cfg, sealed, tag, &q);
}

static limit_id id(const char *text)
{
    struct ip ip;

    cr_assert(ip_parse(&ip, text, strlen(text)));
    return limit_id_of(g.limit, &ip);
}

#define XFF "X-Forwarded-For: "
#define XFP "X-Forwarded-Proto: "

Test(gate, only_trusted_proxies_are_believed)
{
    uint64_t stranger, proxy, v6;

    cr_assert(conn("1.2.3.4:99", &stranger) && conn("10.1.2.3:99", &proxy));
    cr_assert(conn("[::1]:99", &v6));
    cr_expect_eq(client(stranger, ""), id("1.2.3.4"));
    cr_expect_eq(client(stranger, XFF "9.9.9.9\r\n"), id("1.2.3.4"));
    cr_expect_eq(client(stranger, "Forwarded: for=9.9.9.9\r\n"), id("1.2.3.4"));
    cr_expect_eq(client(proxy, XFF "9.9.9.9\r\n"), id("9.9.9.9"));
    cr_expect_eq(client(v6, XFF "9.9.9.9, 10.3.3.3\r\n"), id("9.9.9.9"));
    cr_expect_eq(client(proxy, XFF "8.8.8.8\r\n" XFF "9.9.9.9\r\n"), id("9.9.9.9"));
    cr_expect_eq(client(proxy, "Forwarded: for=9.9.9.9\r\n"), id("10.1.2.3"));
    cr_expect_eq(g.forwarded_none, 1);
    cr_expect_eq(client(proxy, XFF "9.9.9.9, <script>\r\n"), id("10.1.2.3"));
    cr_expect_eq(g.forwarded_bad, 1);
    gate_request(&g, proxy, NULL);
    cr_expect_eq(g.client, 0);
    gate_request(&g, stranger, NULL);
    cr_expect_eq(g.client, id("1.2.3.4"));
}

/* A browser that came to a proxy by http would not keep a cookie that is for https alone. */
Test(gate, the_browser_came_by_https_if_we_or_its_proxy_saw_it)
{
    uint64_t stranger, proxy;

    cfg.page_https = HTTPS_AUTO;
    cr_assert(conn("1.2.3.4:99", &stranger) && conn("10.1.2.3:99", &proxy));
    cr_expect(is_secure(true, stranger, ""));
    cr_expect(is_secure(true, stranger, XFP "http\r\n"));
    cr_expect_not(is_secure(false, stranger, XFP "https\r\n"));
    cr_expect(is_secure(false, proxy, XFP "http, https\r\n"));
    cr_expect_not(is_secure(false, proxy, ""));
    cr_expect(is_secure(true, proxy, ""));
    cr_expect_not(is_secure(true, proxy, XFP "http\r\n"));
    cfg.page_https = HTTPS_ALWAYS;
    cr_expect(is_secure(true, proxy, XFP "http\r\n"));
    cfg.page_https = HTTPS_NEVER;
    cr_expect_not(is_secure(true, stranger, ""));
}

Test(gate, a_configured_proxy_header_is_used)
{
    struct err e = { 0 };
    uint64_t proxy;

    gate_fini(&g);
    cfg.proxy_header = FORWARDED_RFC_7239;
    cr_assert_eq(gate_init(&g, &cfg, &e), 0);
    cr_assert(conn("10.1.2.3:99", &proxy));
    cr_expect_eq(client(proxy, "Forwarded: for=9.9.9.9;proto=https\r\n"), id("9.9.9.9"));
    cr_expect_eq(client(proxy, XFF "9.9.9.9\r\n"), id("10.1.2.3"));
}

Test(gate, connections_per_address_but_not_of_proxies)
{
    uint64_t tag[4], other;

    for (int i = 0; i < 3; i++)
        cr_expect(conn("1.2.3.4:99", &tag[i]));
    cr_expect(!conn("1.2.3.4:99", &tag[3]));
    cr_expect(!conn("[::ffff:1.2.3.4]:99", &tag[3]));
    cr_expect_eq(warnings, 1); /* a line a second at most */
    cr_expect(conn("1.2.3.5:99", &other));
    gate_conn_end(&g, tag[0]);
    cr_expect(conn("1.2.3.4:99", &tag[0]));
    for (int i = 0; i < 100; i++)
        cr_expect(conn("10.9.9.9:1", &other));
    cfg.conns_per_addr = 0;
    gate_reload(&g, &cfg);
    for (int i = 0; i < 100; i++)
        cr_expect(conn("1.2.3.4:99", &other));
}

Test(gate, charges_the_budget_of_the_client)
{
    uint64_t proxy;

    cr_assert(conn("10.1.2.3:99", &proxy));
    client(proxy, XFF "9.9.9.9\r\n");
    cr_expect_eq(gate_take(&g, LIMIT_JOIN, NOW), 0);
    cr_expect_eq(gate_take(&g, LIMIT_JOIN, NOW), 0);
    cr_expect_gt(gate_take(&g, LIMIT_JOIN, NOW), 0);
    client(proxy, XFF "9.9.9.8\r\n");
    cr_expect_eq(gate_take(&g, LIMIT_JOIN, NOW), 0);
    cfg.join_burst = 10;
    gate_reload(&g, &cfg); /* HUP */
    cr_expect_eq(gate_take(&g, LIMIT_JOIN, NOW), 0);
    cr_expect_eq(gate_take(&g, LIMIT_JOIN, NOW), 0);
}

Test(gate, impossible_settings_are_refused)
{
    char *bad[] = { (char[]) { "10.0.0.1/8" } };
    struct err e = { 0 };
    struct router_cfg c = cfg;

    c.join_limit_per_s = 0.001;
    c.join_burst = 100;
    cr_expect_eq(router_cfg_check(&c, &e), SQ_EINVAL);
    cr_expect(strstr(e.text, "join_burst") != NULL, "%s", e.text);
    c = cfg;
    c.trusted_proxies = (struct cfg_list) { bad, 1 };
    cr_expect_eq(router_cfg_check(&c, &e), SQ_EINVAL);
    cr_expect(strstr(e.text, "10.0.0.1/8") != NULL, "%s", e.text);
}

Test(gate, servers_have_a_port_of_their_own)
{
    struct err e = { 0 };
    struct router_cfg c = cfg;

    c.listen = (char *)"0.0.0.0:8080";
    c.admin = (char *)"127.0.0.1:7100";
    c.task_tokens = (char *)"tokens";
    c.listen_tasks = (char *)"127.0.0.1:8081";
    cr_expect_eq(router_cfg_check(&c, &e), 0, "%s", e.text);
    c.listen_tasks = (char *)"127.0.0.1:8080";
    cr_expect_eq(router_cfg_check(&c, &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "listen_tasks: 127.0.0.1:8080 is already used by listen (0.0.0.0:8080)");
    c.listen_tasks = (char *)"*:7100";
    cr_expect_eq(router_cfg_check(&c, &e), SQ_EINVAL);
    c.listen_tasks = (char *)"8081";
    cr_expect_eq(router_cfg_check(&c, &e), SQ_EINVAL);
}
