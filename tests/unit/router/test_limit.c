/* test_limit.c: addresses, who is behind a proxy, and how often an address may ask. */
#include <arpa/inet.h>
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "router/gate/limit.h"
#include "router/state/client_gate.h"

#define S(us) ((int64_t)(us)*1000000)

static const uint8_t key[LIMIT_KEY_BYTES] = { 1, 2, 3 };

/* ---- addresses ------------------------------------------------------------------- */

/* What the C library makes of it, in our form. */
static bool by_library(struct ip *out, const char *text)
{
    memset(out, 0, sizeof(*out));
    out->b[10] = out->b[11] = 0xff;
    return inet_pton(AF_INET, text, out->b + 12) == 1 ||
           inet_pton(AF_INET6, text, out->b) == 1;
}

static void compare(const char *text)
{
    struct ip ours, theirs;
    bool ok = ip_parse(&ours, text, strlen(text)), want = by_library(&theirs, text);

    cr_assert_eq(ok, want, "\"%s\": %d, not %d", text, ok, want);
    if (ok)
        cr_assert_arr_eq(ours.b, theirs.b, 16, "%s", text);
}

Test(ip, accepts_the_same_texts_as_inet_pton)
{
    static const char *const v[] = {
        "0.0.0.0", "255.255.255.255", "1.2.3.4", "01.2.3.4", "1.2.3", "1.2.3.4.", "1.2.3.",
        "256.1.1.1", "1..2.3", "", ":", "::", ":::", "::1", "1::", "1::2", "::1::", "1:2",
        "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8",
        "1::3:4:5:6:7:8", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "::ffff:1.2.3.4",
        "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3", "12345::", "g::", "::1%lo",
        " ::1", "::1 ", "1:2:3:4:5:6:7:", ":1:2:3:4:5:6:7", "fe80::", "1.2.3.4:80", "::.1.2.3",
    };
    static const char chars[] = "0123456789abcdefF::::....g";
    struct rng r;
    char text[48];

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        compare(v[i]);
    rng_seed(&r, 7);
    for (int i = 0; i < 300000; i++) {
        size_t n = rng_below(&r, 24);

        for (size_t k = 0; k < n; k++)
            text[k] = chars[rng_below(&r, sizeof(chars) - 1)];
        text[n] = '\0';
        compare(text);
    }
}

/* Well-formed ones, and those one character away from it. */
Test(ip, parses_inet_ntop_output)
{
    struct rng r;
    char text[64];

    rng_seed(&r, 8);
    for (int i = 0; i < 20000; i++) {
        struct in6_addr a;

        for (int k = 0; k < 16; k++)
            a.s6_addr[k] = rng_below(&r, 3) == 0 ? (uint8_t)rng_below(&r, 256) : 0;
        inet_ntop(AF_INET6, &a, text, sizeof(text));
        compare(text);
        text[rng_below(&r, strlen(text))] = "0:.f"[rng_below(&r, 4)];
        compare(text);
    }
}

static bool in(const char *net, const char *text)
{
    struct ip_net n;
    struct ip ip;

    cr_assert(ip_net_parse(&n, net), "%s", net);
    cr_assert(ip_parse(&ip, text, strlen(text)), "%s", text);
    return ip_in(&n, &ip);
}

Test(ip, addresses_match_their_networks)
{
    static const char *const bad[] = { "10.0.0.0/33", "10.0.0.1/8",  "10.0.0.0/", "/8",
                                       "10.0.0.0/-1", "10.0.0.0/8 ", "::/129",    "x",
                                       "1::1/64",     "1.2.3.4/8/8", "",          "::/00000" };
    struct ip_net n;

    cr_expect(in("10.0.0.0/8", "10.255.1.2") && !in("10.0.0.0/8", "11.0.0.0"));
    cr_expect(in("10.0.0.0/9", "10.127.1.2") && !in("10.0.0.0/9", "10.128.0.0"));
    cr_expect(in("1.2.3.4", "1.2.3.4") && !in("1.2.3.4", "1.2.3.5"));
    cr_expect(in("10.0.0.0/8", "::ffff:10.1.1.1"));
    cr_expect(in("0.0.0.0/0", "9.9.9.9") && !in("0.0.0.0/0", "::1"));
    cr_expect(in("::/0", "9.9.9.9") && in("2001:db8::/33", "2001:db8:7fff::1"));
    cr_expect(!in("2001:db8::/33", "2001:db8:8000::1"));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(ip_net_parse(&n, bad[i]), "\"%s\"", bad[i]);
}

/* ---- proxies --------------------------------------------------------------------- */

static char said[64];

/* "client", "none" or "malformed", from lines separated by newlines. */
static const char *client(enum forwarded_form form, const char *text)
{
    static char copy[2000];
    struct ip_net ours[2];
    struct slice line[HTTP_MAX_VIA];
    size_t n = 0;
    struct ip ip;
    int rc;

    cr_assert(ip_net_parse(&ours[0], "10.0.0.0/8") && ip_net_parse(&ours[1], "fd00::/8"));
    strcpy(copy, text);
    for (char *p = copy; p != NULL && n < HTTP_MAX_VIA; n++) {
        char *next = strchr(p, '\n');

        line[n] = (struct slice) { p, next != NULL ? (size_t)(next - p) : strlen(p) };
        p = next != NULL ? next + 1 : NULL;
    }
    rc = forwarded_client(&ip, form, line, text[0] == '\0' ? 0 : n, ours, 2);
    if (rc <= 0)
        return rc == 0 ? "none" : "malformed";
    if (ip_is_v4(&ip))
        inet_ntop(AF_INET, ip.b + 12, said, sizeof(said));
    else
        inet_ntop(AF_INET6, ip.b, said, sizeof(said));
    return said;
}

Test(forwarded, rightmost_stranger_counts)
{
    static const struct {
        const char *lines, *want;
    } x[] = {
        { "", "none" },
        { "1.2.3.4", "1.2.3.4" },
        { "9.9.9.9, 1.2.3.4", "1.2.3.4" },
        { "9.9.9.9, 1.2.3.4, 10.1.1.1,fd00::1", "1.2.3.4" },
        { "10.1.1.1, 10.1.1.2", "none" },
        { "9.9.9.9\n1.2.3.4\n10.0.0.1", "1.2.3.4" },
        { "rubbish, 1.2.3.4", "1.2.3.4" }, /* what the client made up is never looked at */
        { "1.2.3.4, rubbish", "malformed" },
        { "1.2.3.4, rubbish, 10.0.0.1", "malformed" },
        { "1.2.3.4,", "malformed" },
        { "1.2.3.4:5678", "1.2.3.4" },
        { "1.2.3.4:", "malformed" },
        { "1.2.3.4:5x", "malformed" },
        { "[2001:db8::1]:44", "2001:db8::1" },
        { "[2001:db8::1]", "2001:db8::1" },
        { "2001:db8::1", "2001:db8::1" },
        { "[2001:db8::1", "malformed" },
        { "[2001:db8::1]44", "malformed" },
        { "[1.2.3.4]", "malformed" },
        { "::ffff:1.2.3.4", "1.2.3.4" },
        { "unknown", "malformed" },
    };
    static const struct {
        const char *lines, *want;
    } rfc[] = {
        { "for=1.2.3.4", "1.2.3.4" },
        { "For=9.9.9.9, for=1.2.3.4;proto=https;by=10.0.0.1", "1.2.3.4" },
        { "proto=http;for=\"[2001:db8::1]:4711\"", "2001:db8::1" },
        { "for=1.2.3.4, for=10.2.2.2", "1.2.3.4" },
        { "for=9.9.9.9;x=\"a,for=8.8.8.8\"", "9.9.9.9" }, /* a comma in quotes is no comma */
        { "for=9.9.9.9;x=\"\\\",for=8.8.8.8\"", "9.9.9.9" },
        { "for=unknown", "malformed" },
        { "for=_hidden, for=10.0.0.1", "malformed" },
        { "by=1.2.3.4", "malformed" },
        { "for=1.2.3.4;for=5.6.7.8", "malformed" },
        { "1.2.3.4", "malformed" },
        { "for=\"1.2.3.4", "malformed" },
    };

    for (size_t i = 0; i < ARRAY_LEN(x); i++)
        cr_expect_str_eq(client(FORWARDED_X, x[i].lines), x[i].want, "%s", x[i].lines);
    for (size_t i = 0; i < ARRAY_LEN(rfc); i++)
        cr_expect_str_eq(client(FORWARDED_RFC_7239, rfc[i].lines), rfc[i].want, "%s",
                         rfc[i].lines);
}

Test(forwarded, the_end_of_a_long_list_counts)
{
    char text[1800] = "1.2.3.4";

    for (int i = 0; i < 15; i++)
        strcat(text, ", 10.0.0.1");
    cr_expect_str_eq(client(FORWARDED_X, text), "1.2.3.4");
    strcat(text, ", 10.0.0.1");
    cr_expect_str_eq(client(FORWARDED_X, text), "none"); /* beyond FORWARDED_MAX */
}

/* ---- buckets --------------------------------------------------------------------- */

static limit_id id_of(const struct limit *l, const char *text)
{
    struct ip ip;

    cr_assert(ip_parse(&ip, text, strlen(text)), "%s", text);
    return limit_id_of(l, &ip);
}

static limit_id nth(const struct limit *l, uint32_t i)
{
    struct ip ip = { .b = { [10] = 0xff, [11] = 0xff } };

    i = htonl(i);
    memcpy(ip.b + 12, &i, 4);
    return limit_id_of(l, &ip);
}

static struct limit *five_joins(size_t entries)
{
    struct limit *l = limit_new(entries, key);

    cr_assert(l != NULL);
    limit_set(l, LIMIT_JOIN, 5, 20);
    return l;
}

/* How many of n at this moment are let through. */
static unsigned passed(struct limit *l, limit_id id, enum limit_kind k, unsigned n,
                       int64_t now)
{
    unsigned good = 0;

    while (n-- > 0)
        good += limit_take(l, id, k, now) == 0;
    return good;
}

Test(limit, an_address_is_a_32_or_a_64)
{
    struct limit *l = five_joins(64);

    cr_expect_eq(id_of(l, "1.2.3.4"), id_of(l, "::ffff:1.2.3.4"));
    cr_expect_neq(id_of(l, "1.2.3.4"), id_of(l, "1.2.3.5"));
    cr_expect_eq(id_of(l, "2001:db8:1:2::1"), id_of(l, "2001:db8:1:2:ffff::9"));
    cr_expect_neq(id_of(l, "2001:db8:1:2::1"), id_of(l, "2001:db8:1:3::1"));
    cr_expect_neq(id_of(l, "::"), 0);
    cr_expect_eq(id_of(l, "1.2.3.4") & 1, 0);
    limit_free(l);
}

Test(limit, the_hash_key_decides_collisions)
{
    static const uint8_t other[LIMIT_KEY_BYTES] = { 9 };
    struct limit *a = five_joins(64), *b = limit_new(64, other);

    cr_expect_neq(id_of(a, "1.2.3.4"), id_of(b, "1.2.3.4"));
    limit_free(a);
    limit_free(b);
}

Test(limit, burst_then_rate)
{
    struct limit *l = five_joins(64);
    limit_id id = id_of(l, "1.2.3.4");
    unsigned n = 0;

    cr_expect_eq(passed(l, id, LIMIT_JOIN, 100, S(1000)), 20);
    cr_expect_eq(passed(l, id_of(l, "1.2.3.5"), LIMIT_JOIN, 100, S(1000)), 20);
    for (int i = 1; i <= 1000; i++) /* ten seconds, 100 tries a second */
        n += passed(l, id, LIMIT_JOIN, 1, S(1000) + i * 10000);
    cr_expect_eq(n, 50);
    cr_expect_eq(passed(l, id, LIMIT_JOIN, 100, S(1013)), 15); /* three seconds later */
    cr_expect_eq(passed(l, id, LIMIT_JOIN, 100, S(2000)), 20);
    cr_expect_eq(limit_counts(l)->refused[LIMIT_JOIN], 80 + 950 + 85 + 80 + 80);
    limit_free(l);
}

Test(limit, kinds_have_their_own_budgets_and_off_is_off)
{
    struct limit *l = five_joins(64);
    limit_id id = id_of(l, "1.2.3.4");

    cr_expect_eq(passed(l, id, LIMIT_POLL, 100000, 0), 100000);
    limit_set(l, LIMIT_POLL, 50, 200);
    cr_expect_eq(passed(l, id, LIMIT_JOIN, 100, 0), 20);
    cr_expect_eq(passed(l, id, LIMIT_POLL, 1000, 0), 200);
    limit_set(l, LIMIT_JOIN, 0, 0);
    cr_expect_eq(passed(l, id, LIMIT_JOIN, 1000, 0), 1000);
    cr_expect_eq(passed(l, id, LIMIT_POLL, 1000, 0), 0);
    limit_free(l);
}

/* Those sent away are told moments one after the other, at the limit's rate, and coming
 * then they are let in: nobody is told too early. */
Test(limit, the_told_wait_grows_with_the_excess_and_is_honest)
{
    struct limit *l = five_joins(64);
    limit_id id = id_of(l, "1.2.3.4");
    uint32_t told[50], last = 0;

    cr_expect_eq(passed(l, id, LIMIT_JOIN, 20, 0), 20);
    for (int i = 0; i < 50; i++) {
        told[i] = limit_take(l, id, LIMIT_JOIN, 0);
        cr_expect_gt(told[i], last);
        cr_expect_leq(told[i] - last, 202);
        last = told[i];
    }
    for (int i = 0; i < 50; i++)
        cr_expect_eq(limit_take(l, id, LIMIT_JOIN, (int64_t)told[i] * 1000), 0, "%d", i);
    for (int i = 0; i < 100000; i++)
        last = limit_take(l, id, LIMIT_JOIN, S(20));
    cr_expect_leq(last, LIMIT_MAX_TOLD_MS + 1);
    cr_expect_eq(limit_take(l, id, LIMIT_JOIN, S(21)), 0); /* refused ones cost nothing */
    limit_free(l);
}

/* Five joins a second, a call of eight of them that comes again as it was told: the second time it has all. */
Test(limit, many_at_once_are_all_or_none)
{
    struct limit *l = five_joins(64);
    limit_id id = id_of(l, "1.2.3.4");
    uint32_t wait;

    cr_expect_eq(passed(l, id, LIMIT_JOIN, 20, 0), 20);
    cr_expect_eq(limit_take(l, id, LIMIT_JOIN, S(1)), 0);
    wait = limit_take_more(l, id, LIMIT_JOIN, 7, S(1));
    cr_expect(wait >= 600 && wait <= 602, "%u", wait);
    cr_expect_eq(limit_take(l, id, LIMIT_JOIN, S(1) + wait * 1000), 0);
    cr_expect_eq(limit_take_more(l, id, LIMIT_JOIN, 7, S(1) + wait * 1000), 0);
    cr_expect_gt(limit_take(l, id, LIMIT_JOIN, S(1) + wait * 1000), 0);

    cr_expect_eq(limit_take(l, id, LIMIT_JOIN, S(9)), 0); /* of more than a bucket: a full one */
    cr_expect_eq(limit_take_more(l, id, LIMIT_JOIN, 99, S(9)), 0);
    cr_expect_gt(limit_take(l, id, LIMIT_JOIN, S(9)), 0);
    cr_expect_eq(limit_take_more(l, id, LIMIT_BAD, 99, S(9)), 0); /* no limit */
    limit_free(l);
}

Test(limit, odd_settings_and_clocks_are_bounded)
{
    struct limit *l = limit_new(0, key);
    limit_id id = id_of(l, "::1");

    limit_set(l, LIMIT_JOIN, 0.001, 1000); /* 1000 s each: cut to an hour's worth */
    cr_expect_eq(passed(l, id, LIMIT_JOIN, 100, S(5)), 3);
    cr_expect_eq(passed(l, id, LIMIT_JOIN, 100, S(4)), 0); /* the clock went back */
    cr_expect_eq(passed(l, id, LIMIT_JOIN, 100, S(100000000)), 3);
    limit_set(l, LIMIT_POLL, 1e9, 1);
    cr_expect_eq(passed(l, id, LIMIT_POLL, 3, 0), 1);
    limit_set(l, LIMIT_BAD, 1e-9, 0);
    cr_expect_eq(passed(l, id, LIMIT_BAD, 3, 0), 1);
    limit_free(l);
}

/* A million addresses, all within one refill: the table cannot know them all. Nobody who
 * did nothing is refused; those at their limit are kept as long as there are others. */
Test(limit, a_million_addresses_refuse_no_idle_client)
{
    struct limit *l = five_joins(65536);
    limit_id bad[100];
    unsigned again = 0;

    for (uint32_t i = 0; i < ARRAY_LEN(bad); i++) {
        bad[i] = nth(l, 0x10000000 + i);
        cr_assert_eq(passed(l, bad[i], LIMIT_JOIN, 25, 0), 20);
    }
    for (uint32_t i = 0; i < 1000000; i++)
        cr_assert_eq(limit_take(l, nth(l, i), LIMIT_JOIN, i), 0); /* 1 us apart */
    cr_expect_eq(limit_counts(l)->addresses, 65536);
    cr_expect_gt(limit_counts(l)->forgotten, 900000);
    for (uint32_t i = 0; i < ARRAY_LEN(bad); i++)
        again += passed(l, bad[i], LIMIT_JOIN, 25, S(1));
    cr_expect_eq(again, 500, "%u, not the 5 of a second for each of 100", again);
    limit_free(l);
}

Test(limit, a_full_bucket_is_lost_first_and_costs_nothing)
{
    struct limit *l = five_joins(8); /* one set */
    limit_id first = nth(l, 1);

    for (uint32_t i = 1; i <= 8; i++)
        cr_assert_eq(passed(l, nth(l, i), LIMIT_JOIN, 20, S(i)), 20);
    cr_expect_eq(passed(l, nth(l, 9), LIMIT_JOIN, 1, S(8)), 1); /* 1 was full again */
    cr_expect_eq(passed(l, first, LIMIT_JOIN, 30, S(8)), 20);
    cr_expect_eq(limit_counts(l)->forgotten, 0);
    for (uint32_t i = 20; i < 120; i++)
        cr_assert_eq(passed(l, nth(l, i), LIMIT_JOIN, 1, S(8)), 1);
    cr_expect_gt(limit_counts(l)->forgotten, 90);
    cr_expect_eq(passed(l, first, LIMIT_JOIN, 20, S(8)), 0); /* at their limit: kept */
    cr_expect_eq(passed(l, nth(l, 8), LIMIT_JOIN, 20, S(8)), 0);
    limit_free(l);
}

Test(limit, conns_are_counted_exactly)
{
    struct limit *l = limit_new(8, key);
    limit_id a = nth(l, 1);

    for (int i = 0; i < 10; i++)
        cr_expect(limit_conn_open(l, a, 10));
    cr_expect_not(limit_conn_open(l, a, 10));
    cr_expect(limit_conn_open(l, nth(l, 2), 10));
    limit_conn_close(l, a);
    cr_expect(limit_conn_open(l, a, 10));
    cr_expect_not(limit_conn_open(l, a, 10));
    cr_expect(limit_conn_open(l, a, 0)); /* any number */
    for (int i = 0; i < 11; i++)
        limit_conn_close(l, a);
    limit_conn_close(l, a); /* one too many harms nobody */
    cr_expect(limit_conn_open(l, a, 1));
    cr_expect_eq(limit_counts(l)->conns_refused, 2);
    limit_free(l);
}
