/* test_bypass.c: who is let past the room, and above all who is not. */
#include "router/gate/bypass.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

static struct token_key key = { .subject = { 1, 2, 3 } };

static struct slice text(const char *s)
{
    return (struct slice) { (char *)(uintptr_t)s, strlen(s) };
}

static struct bypass *rules(const char *json)
{
    struct err e = { 0 };
    struct bypass *b = bypass_new(json, &e);

    cr_assert_not_null(b, "%s", e.text);
    return b;
}

static enum bypass_why why(const char *json, const struct bypass_ask *a)
{
    struct bypass *b = rules(json);
    struct bypass_ask with = *a;
    enum bypass_why w;

    with.key = &key;
    w = bypass_of(b, &with);
    bypass_free(b);
    return w;
}

static struct ip address(const char *s)
{
    struct ip ip;

    cr_assert(ip_parse(&ip, s, strlen(s)));
    return ip;
}

Test(bypass, an_address_rule_matches_its_networks)
{
    static const char json[] = "{\"bypass\":{\"addresses\":[\"10.1.0.0/16\",\"2001:db8::/32\"]}}";
    static const struct {
        const char *addr;
        enum bypass_why want;
    } v[] = { { "10.1.255.1", BYPASS_ADDRESS }, { "10.2.0.1", BYPASS_NONE },
              { "2001:db8:1::9", BYPASS_ADDRESS }, { "2001:db9::1", BYPASS_NONE },
              { "::ffff:10.1.0.9", BYPASS_ADDRESS } };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct ip ip = address(v[i].addr);

        cr_expect_eq(why(json, &(struct bypass_ask) { .addr = &ip }), v[i].want, "%s",
                     v[i].addr);
    }
    cr_expect_eq(why(json, &(struct bypass_ask) { 0 }), BYPASS_NONE, "nobody knows it");
}

Test(bypass, path_rules_cover_subpaths)
{
    static const char *const in[] = { "/static", "/static/", "/static/a/b.css",
                                      "/static?x=../..", "/static/a-b_c.d~e",
                                      "/st%61tic/x", "/static/%61",
                                      "/static/%e5%9b%be", "/static/\xe0\xa4\x85",
                                      "/static/\xf0\x9f\x99\x82" };
    static const char *const out[] = {
        "/staticx", "/", "", "static/x", "/Static/x", "/static/../checkout",
        "/static/..", "/static/./x", "/static//x", "//static/x", "/static/%2e%2e/checkout",
        "/static/.%2e/checkout", "/static/%2E/x", "/static%2f..%2fcheckout",
        "/static/..%2fcheckout", "/static\\..\\checkout", "/static/%5c../x", "/static/a%2fb",
        "/static/..;/checkout", "/static;x/y", "/static/%252e%252e/checkout", "/static/%",
        "/static/%2", "/static/%zz", "/static/a%00", "/static/a b", "/static/a%0d%0ax",
        "/static/#/../x", "/static/%23", "/static/%3f", "/static/a%20b", "/x/../static/y",
        "/.//static/x", "http://shop/static/x", "*", "/static/%c0%ae%c0%ae/checkout",
        "/static/\xc0\xae\xc0\xae/x", "/static/%c1%9cx", "/static/..%e0%80%afcheckout",
        "/static/%f0%80%80%afx",
    };

    for (size_t i = 0; i < ARRAY_LEN(in); i++)
        cr_expect(bypass_path("/static", text(in[i])), "%s", in[i]);
    for (size_t i = 0; i < ARRAY_LEN(out); i++)
        cr_expect_not(bypass_path("/static", text(out[i])), "%s", out[i]);
    cr_expect(bypass_path("/static/", text("/static/x")));
    cr_expect_not(bypass_path("/static/", text("/static")));
    cr_expect_not(bypass_path("/static", (struct slice) { 0 }), "nobody knows it");
    cr_expect_eq(why("{\"bypass\":{\"paths\":[\"/a\",\"/static\"]}}",
                     &(struct bypass_ask) { .uri = text("/static/1") }), BYPASS_PATH);
}

static enum bypass_why with_fields(const char *fields)
{
    char raw[500];
    struct http_state st = { 0 };
    struct http_req q;
    int n = snprintf(raw, sizeof(raw), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", fields);

    cr_assert_gt(http_parse(&st, &q, raw, (size_t)n), 0);
    return why("{\"bypass\":{\"headers\":[{\"name\":\"X-Probe\",\"value\":\"s3cret 1\"},"
               "{\"name\":\"X-Robot\"}]}}",
               &(struct bypass_ask) { .q = &q });
}

Test(bypass, a_header_rule_matches_one_header_exactly)
{
    cr_expect_eq(with_fields("X-Probe: s3cret 1\r\n"), BYPASS_HEADER);
    cr_expect_eq(with_fields("x-PROBE:   s3cret 1 \r\n"), BYPASS_HEADER);
    cr_expect_eq(with_fields("X-Robot: anything\r\n"), BYPASS_HEADER);
    cr_expect_eq(with_fields("X-Robot:\r\n"), BYPASS_HEADER);
    cr_expect_eq(with_fields(""), BYPASS_NONE);
    cr_expect_eq(with_fields("X-Probe: s3cret 2\r\n"), BYPASS_NONE);
    cr_expect_eq(with_fields("X-Probe: s3cret 12\r\n"), BYPASS_NONE);
    cr_expect_eq(with_fields("X-Probe: s3cret \r\n"), BYPASS_NONE);
    cr_expect_eq(with_fields("X-Probe: S3CRET 1\r\n"), BYPASS_NONE);
    cr_expect_eq(with_fields("X-Probe:\r\n"), BYPASS_NONE);
    cr_expect_eq(with_fields("X-Probes: s3cret 1\r\n"), BYPASS_NONE);
    cr_expect_eq(with_fields("X-Probe: no\r\nX-Probe: s3cret 1\r\n"), BYPASS_NONE,
                 "there twice: who knows which one counts");
}

Test(bypass, a_subject_rule_matches_the_whole_subject)
{
    static const char json[] = "{\"bypass\":{\"subjects\":[\"anna\",\"J\xc3\xb6rg\"]}}";

    cr_expect_eq(why(json, &(struct bypass_ask) { .subject = text("anna") }), BYPASS_SUBJECT);
    cr_expect_eq(why(json, &(struct bypass_ask) { .subject = text("J\xc3\xb6rg") }),
                 BYPASS_SUBJECT);
    cr_expect_eq(why(json, &(struct bypass_ask) { .subject = text("ann") }), BYPASS_NONE);
    cr_expect_eq(why(json, &(struct bypass_ask) { .subject = text("annab") }), BYPASS_NONE);
    cr_expect_eq(why(json, &(struct bypass_ask) { .subject = text("") }), BYPASS_NONE);
    cr_expect_eq(why(json, &(struct bypass_ask) { 0 }), BYPASS_NONE);
}

static unsigned in_room(double percent, queue_id q, bool by_name)
{
    unsigned n = 0;

    for (unsigned i = 0; i < 20000; i++) {
        char name[32];
        struct ip ip = address("10.0.0.0");
        struct bypass_ask a = { .queue = q, .key = &key, .addr = &ip };

        snprintf(name, sizeof(name), "user-%u", i);
        ip.b[14] = (uint8_t)(i >> 8);
        ip.b[15] = (uint8_t)i;
        if (by_name)
            a.subject = text(name);
        if (bypass_in_rollout(&a, percent)) {
            cr_expect(bypass_in_rollout(&a, percent + 20), "raised, it only adds people");
            n++;
        }
    }
    return n;
}

Test(bypass, a_rollout_is_a_share_of_the_people_and_only_grows)
{
    struct ip one = address("2001:db8::1"), two = address("2001:db8::ffff");
    struct bypass_ask a = { .key = &key, .addr = &one }, b = { .key = &key, .addr = &two };

    for (int by_name = 0; by_name < 2; by_name++) {
        unsigned n = in_room(25, 7, by_name);

        cr_expect(n > 4600 && n < 5400, "%u of 20000 at 25 percent", n);
        cr_expect_eq(in_room(25, 7, by_name), n, "the same people every time");
        cr_expect_eq(in_room(0, 7, by_name), 0);
        cr_expect_eq(in_room(100, 7, by_name), 20000);
    }
    for (double p = 1; p < 100; p++)
        cr_expect_eq(bypass_in_rollout(&a, p), bypass_in_rollout(&b, p),
                     "one line has a /64");
    cr_expect(bypass_in_rollout(&(struct bypass_ask) { .key = &key }, 0),
              "of whom nothing is known waits");
    cr_expect_eq(why("{\"rollout\":0}", &a), BYPASS_ROLLOUT);
    cr_expect_eq(why("{\"rollout\":100}", &a), BYPASS_NONE);
    cr_expect_eq(why("{\"rollout\":0}", &(struct bypass_ask) { 0 }), BYPASS_NONE);
}

Test(bypass, unknown_rules_bypass_nobody)
{
    static const char *const bad[] = {
        "", "[]", "{\"rollout\":101}", "{\"bypass\":{\"addresses\":[\"10.1.2.3/8\"]}}",
        "{\"bypass\":{\"paths\":[\"static\"]}}", "{\"bypass\":{\"paths\":[\"/\"]}}",
        "{\"bypass\":{\"paths\":[\"/a/../b\"]}}", "{\"bypass\":{\"paths\":[\"/a%20\"]}}",
        "{\"bypass\":{\"paths\":[\"/a//b\"]}}", "{\"bypass\":{\"paths\":[\"/a?b\"]}}",
        "{\"bypass\":{\"headers\":[{\"name\":\"Cookie\"}]}}",
        "{\"bypass\":{\"headers\":[{\"name\":\"x-segq-queue\"}]}}",
        "{\"bypass\":{\"headers\":[{\"name\":\"a b\"}]}}",
        "{\"bypass\":{\"headers\":[{\"name\":\"a\",\"value\":\" b\"}]}}",
        "{\"bypass\":{\"subjects\":[\"\"]}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e = { 0 };

        cr_expect_null(bypass_new(bad[i], &e), "%s", bad[i]);
        cr_expect_neq(e.text[0], '\0', "%s", bad[i]);
    }
    bypass_free(rules("{\"bypass\":{\"of_a_newer_release\":1},\"rollout\":50,\"more\":[]}"));
}

Test(bypass, rules_round_trip)
{
    static const char json[] = "{\"bypass\":{\"addresses\":[\"10.0.0.0/8\"],\"paths\":[\"/a\"],"
                               "\"headers\":[{\"name\":\"X-A\",\"value\":\"\\\"b\"}],"
                               "\"subjects\":[\"c\"]},\"rollout\":12.5}";
    struct gate_def d = { 0 }, back = { 0 };
    struct err e = { 0 };
    struct buf b;

    buf_init(&b);
    cr_assert_eq(gate_def_read(&d, json, sizeof(json) - 1, &e), 0, "%s", e.text);
    cr_expect_not(gate_def_is_empty(&d));
    cr_assert(gate_def_write(&b, &d));
    cr_assert_eq(gate_def_read(&back, (const char *)b.data, b.len, &e), 0, "%s", e.text);
    cr_expect_eq(back.rollout, 12.5);
    cr_expect_eq(back.bypass.addresses.n, 1);
    cr_expect_str_eq(((struct gate_header *)back.bypass.headers.v)->value, "\"b");
    cr_expect_str_eq(*(char **)back.bypass.subjects.v, "c");
    gate_def_fini(&d);
    gate_def_fini(&back);
    buf_fini(&b);
}
