/* test_http.c: what http.c accepts, what it refuses and with which status; every split
 * gives the same outcome; nothing behind the buffer and its slack is touched (they end at a
 * page that may not be read), and what is in the slack does not matter. */
#include "common/http/http.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM (256 * 1024)

static char *guarded; /* ROOM bytes and the slack; the byte after them is not readable */

static void setup(void)
{
    char *m = mmap(NULL, ROOM + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    cr_assert(m != MAP_FAILED);
    cr_assert_eq(mprotect(m + ROOM + 4096, 4096, PROT_NONE), 0);
    guarded = m + 4096 - HTTP_SLACK;
}

TestSuite(http, .init = setup);

/* Behind a text: the end of its line and of its head, more of whatever it ends with, or what is
 * allowed nowhere; each time something else. */
static void fill_slack(char *p)
{
    static const char *const kinds[] = { "\r\n\r\n", "a", "a: b\r\n", " ", ":", "\x7f", "\r", "\n" };
    static unsigned calls;
    const char *kind = kinds[calls++ % ARRAY_LEN(kinds)];

    for (size_t i = 0, n = strlen(kind); i < HTTP_SLACK; i++)
        p[i] = kind[i % n];
}

/* Places the text so that its slack ends at the guard, and parses it. */
static int64_t parse_at_guard(struct http_state *st, struct http_req *r, const char *t,
                              size_t n)
{
    char *p = guarded + ROOM - n;

    memcpy(p, t, n);
    fill_slack(p + n);
    return http_parse(st, r, p, n);
}

static int64_t parse(struct http_req *r, const char *t, size_t n)
{
    struct http_state st = { 0 };
    return parse_at_guard(&st, r, t, n);
}

/* Outcome when the bytes come in two pieces, and one by one. */
static void check_splits(const char *t, size_t n, int64_t want)
{
    struct http_req r;

    for (size_t cut = 0; cut <= n; cut++) {
        struct http_state st = { 0 };
        int64_t rc = parse_at_guard(&st, &r, t, cut);
        if (rc == 0)
            rc = parse_at_guard(&st, &r, t, n);
        cr_expect_eq(rc, want, "cut %zu of %zu: %ld, whole %ld: %.60s", cut, n, (long)rc,
                     (long)want, t);
    }
    struct http_state st = { 0 };
    int64_t rc = 0;
    for (size_t k = 0; k <= n && rc == 0; k++)
        rc = parse_at_guard(&st, &r, t, k);
    cr_expect_eq(rc, want, "byte by byte: %ld, whole %ld: %.60s", (long)rc, (long)want,
                 t);
}

#define H       "Host: a\r\n"
#define GET     "GET / HTTP/1.1\r\n" H
#define POST    "POST /x HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define T(want, text)                                                                    \
    {                                                                                    \
        want, text, sizeof(text) - 1                                                     \
    }
#define OK (-1) /* all bytes */

static const struct {
    int want; /* OK, 0 = partial, or the status */
    const char *text;
    size_t n;
} table[] = {
    T(OK, GET "\r\n"),
    T(OK, "\r\n" GET "\r\n"),
    T(400, "\r\n\r\n" GET "\r\n"),
    T(400, "\n" GET "\r\n"),
    T(400, " " GET "\r\n"),
    T(OK, "GET / HTTP/1.0\r\n\r\n"),
    T(OK, "GET / HTTP/1.0\r\n" H "\r\n"),
    T(OK, "GET / HTTP/1.2\r\n" H "\r\n"),
    T(505, "GET / HTTP/2.0\r\n" H "\r\n"),
    T(505, "GET / HTTP/0.9\r\n\r\n"),
    T(400, "GET / HTTP/1\r\n" H "\r\n"),
    T(400, "GET / http/1.1\r\n" H "\r\n"),
    T(400, "GET /\r\n"),
    T(400, "GET / HTTP/1.1 \r\n" H "\r\n"),
    T(400, "GET  / HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET /  HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET\t/ HTTP/1.1\r\n" H "\r\n"),
    T(400, "G(T / HTTP/1.1\r\n" H "\r\n"),
    T(OK, "BREW / HTTP/1.1\r\n" H "\r\n"),
    T(OK, "get / HTTP/1.1\r\n" H "\r\n"),
    T(501, "CONNECT a:80 HTTP/1.1\r\n" H "\r\n"),
    T(OK, "OPTIONS * HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET * HTTP/1.1\r\n" H "\r\n"),
    T(OK, "GET http://b:80/p?q HTTP/1.1\r\n" H "\r\n"),
    T(OK, "GET HTTPS://b HTTP/1.1\r\n" H "\r\n"),
    T(OK, "GET http://b?q=1 HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET http://u@b/ HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET http:///p HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET ftp://b/ HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET x HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET /#f HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET /a\"b HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET /a|b HTTP/1.1\r\n" H "\r\n"),
    T(OK, "GET /a?b|{c}[d] HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET /\x80 HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET /\0 HTTP/1.1\r\n" H "\r\n"),
    T(400, "GET / HTTP/1.1\n" H "\r\n"),
    T(400, "GET / HTTP/1.1\r" H "\r\n"),
    /* Host */
    T(400, "GET / HTTP/1.1\r\n\r\n"),
    T(400, GET H "\r\n"),
    T(400, GET "Host: b\r\n\r\n"),
    T(400, "GET / HTTP/1.0\r\n" H H "\r\n"),
    T(OK, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    T(OK, "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"),
    T(OK, "GET / HTTP/1.1\r\nhOsT:  a.b-c:80 \t\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: a/b\r\nX: as many bytes as a block has\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: example.com/room\r\nX: some bytes\r\n\r\n"),
    T(OK, "GET / HTTP/1.1\r\nHost: a\r\nX: as many bytes as a block has\r\n\r\n"),
    T(OK, "GET / HTTP/1.1\r\nHost: room.example-shop.com:80\r\nX: some bytes\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    T(400, "GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n"),
    T(400, "GET http://b/ HTTP/1.1\r\n\r\n"),
    /* field lines */
    T(400, GET "X : 1\r\n\r\n"),
    T(400, GET " X: 1\r\n\r\n"),
    T(400, GET "X: 1\r\n folded\r\n\r\n"),
    T(400, GET "X: 1\r\n\tfolded\r\n\r\n"),
    T(400, GET ": 1\r\n\r\n"),
    T(400, GET "X\r\n\r\n"),
    T(400, GET "X Y: 1\r\n\r\n"),
    T(400, GET "X: a\0b\r\n\r\n"),
    T(400, GET "X: a\x7f"
               "b\r\n\r\n"),
    T(400, GET "X: a\x01"
               "b\r\n\r\n"),
    T(400, GET "X: a\rb\r\n\r\n"),
    T(400, GET "X: a\nY: b\r\n\r\n"),
    T(400, GET "X: a\r\r\n\r\n"),
    T(400, GET "\n"),
    T(400, GET "\r\r\n"),
    T(OK, GET "X: a\tb \x80\xff\r\n\r\n"),
    T(OK, GET "X:\r\nY:   \r\n\r\n"),
    T(400, GET "Authorization: a\r\nAuthorization: b\r\n\r\n"),
    /* Content-Length */
    T(OK, POST "Content-Length: 0\r\n\r\n"),
    T(OK, POST "Content-Length: 3\r\n\r\nabc"),
    T(0, POST "Content-Length: 4\r\n\r\nabc"),
    T(OK, POST "Content-Length: 0003\r\n\r\nabc"),
    T(400, POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
    T(400, POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
    T(400, POST "Content-Length: 3, 3\r\n\r\nabc"),
    T(400, POST "Content-Length: +3\r\n\r\nabc"),
    T(400, POST "Content-Length: -1\r\n\r\nabc"),
    T(400, POST "Content-Length: 0x3\r\n\r\nabc"),
    T(400, POST "Content-Length: 3 3\r\n\r\nabc"),
    T(400, POST "Content-Length:\r\n\r\n"),
    T(413, POST "Content-Length: 16385\r\n\r\n"),
    T(413, POST "Content-Length: 18446744073709551617\r\n\r\n"),
    T(413, POST "Content-Length: 99999999999999999999999999999999\r\n\r\n"),
    T(400, POST "Content-Length: 9999999999999999999999999999999x\r\n\r\n"),
    T(OK, "GET / HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nab"),
    /* Transfer-Encoding */
    T(OK, CHUNKED "0\r\n\r\n"),
    T(OK, CHUNKED "3\r\nabc\r\n0\r\n\r\n"),
    T(OK, CHUNKED "3;x=y;z=\"q\"\r\nabc\r\n00\r\n\r\n"),
    T(OK, CHUNKED "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\nT: 1\r\nU: 2\r\n\r\n"),
    T(0, CHUNKED "3\r\nabc\r\n0\r\n"),
    T(400, CHUNKED "\r\n"),
    T(400, CHUNKED "g\r\n"),
    T(400, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"),
    T(400, CHUNKED "-1\r\n"),
    T(400, CHUNKED " 3\r\nabc\r\n0\r\n\r\n"),
    T(400, CHUNKED "3 \r\nabc\r\n0\r\n\r\n"),
    T(400, CHUNKED "3\nabc\r\n0\r\n\r\n"),
    T(400, CHUNKED "3\r\nabcd\r\n0\r\n\r\n"),
    T(400, CHUNKED "3\r\nab\r\n0\r\n\r\n"),
    T(400, CHUNKED "3\r\nabc\n0\r\n\r\n"),
    T(400, CHUNKED "3;a\0b\r\nabc\r\n0\r\n\r\n"),
    T(400, CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n"),
    T(400, CHUNKED "0\r\nT : 1\r\n\r\n"),
    T(400, CHUNKED "0\r\n folded\r\n\r\n"),
    T(413, CHUNKED "4001\r\n"),
    T(413, CHUNKED "ffffffffffffffff\r\n"),
    T(400, CHUNKED "00000000000000003\r\n"),
    T(400, POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
    T(400, POST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    T(400,
      POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    T(400, POST "Transfer-Encoding: xchunked\r\n\r\n"),
    T(400, POST "Transfer-Encoding: identity\r\n\r\n"),
    T(400, POST "Transfer-Encoding:\r\n\r\n"),
    T(400, POST "Transfer-Encoding: chunked, gzip\r\n\r\n"),
    T(400, POST "Transfer-Encoding: chunked,\r\n\r\n"),
    T(501, POST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
    T(400, POST "Transfer-Encoding: \"chunked\"\r\n\r\n"),
    T(400, POST "Transfer-Encoding: chunked;q=1\r\n\r\n"),
    T(400, POST "Transfer-Encoding : chunked\r\n\r\n"),
    T(400, POST "Transfer-Encoding: \x0b"
                "chunked\r\n\r\n"),
    T(OK, POST "Transfer-Encoding: CHUNKED \r\n\r\n0\r\n\r\n"),
    T(400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    /* Expect */
    T(OK, POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\na"),
    T(417, POST "Expect: 200-maybe\r\n\r\n"),
    T(OK, "POST / HTTP/1.0\r\nExpect: 200-maybe\r\n\r\n"),
    /* not yet there */
    T(0, ""),
    T(0, "\r"),
    T(0, "G"),
    T(0, "GET / HTTP/1.1\r\nHost: a\r\n"),
    T(400, "\x16\x03\x01\x02"), /* TLS */
    T(400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
};

Test(http, table_and_every_split)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct http_req r;
        int64_t rc = parse(&r, table[i].text, table[i].n);
        int64_t want = table[i].want == OK ? (int64_t)table[i].n : -table[i].want;

        cr_expect_eq(rc, want, "%zu: got %ld, want %ld: %s", i, (long)rc, (long)want,
                     table[i].text);
        check_splits(table[i].text, table[i].n, rc);
    }
}

static bool is(struct slice s, const char *t)
{
    return s.p != NULL && s.n == strlen(t) && memcmp(s.p, t, s.n) == 0;
}

Test(http, method_path_and_query_are_parsed)
{
    static const char t[] = "DELETE /v1/tickets/abc?x=1?y HTTP/1.1\r\nHost: h:1\r\n"
                            "User-Agent: ua\r\nAccept-Language: de\r\nCookie: c=1\r\n"
                            "Authorization: Bearer z\r\nX-Forwarded-For: 1.2.3.4\r\n"
                            "If-None-Match: \"e\"\r\nContent-Type: text/plain\r\n"
                            "Connection: foo, Close\r\nContent-Length: 2\r\n\r\nhi";
    struct http_req r;

    cr_assert_eq(parse(&r, t, sizeof(t) - 1), (int64_t)sizeof(t) - 1);
    cr_expect_eq(r.method, HTTP_DELETE);
    cr_expect(is(r.path, "/v1/tickets/abc") && is(r.query, "x=1?y"));
    cr_expect(is(r.host, "h:1") && is(r.user_agent, "ua") && is(r.accept_language, "de"));
    cr_expect(is(r.cookie, "c=1") && is(r.authorization, "Bearer z"));
    cr_expect(is(r.if_none_match, "\"e\""));
    cr_expect(r.x_forwarded_for.n == 1 && is(r.x_forwarded_for.line[0], "1.2.3.4"));
    cr_expect_eq(r.forwarded.n, 0);
    cr_expect(is(r.body, "hi") && r.has_body && !r.json && !r.keep_alive);
    cr_expect_eq(r.minor, 1);
}

Test(http, the_last_lines_of_proxies_are_kept_in_order)
{
    static const char t[] = "GET / HTTP/1.1\r\nHost: h\r\nForwarded: for=9\r\n"
                            "X-Forwarded-For: 0\r\nX-FORWARDED-FOR: 1\r\n"
                            "x-forwarded-for: 2, 3\r\nX-Forwarded-For: 4\r\n"
                            "forwarded: for=8\r\nX-Forwarded-For: 5\r\n\r\n";
    static const char *const last[HTTP_MAX_VIA] = { "1", "2, 3", "4", "5" };
    struct http_req r;

    cr_assert_eq(parse(&r, t, sizeof(t) - 1), (int64_t)sizeof(t) - 1);
    cr_assert_eq(r.x_forwarded_for.n, HTTP_MAX_VIA);
    for (unsigned i = 0; i < HTTP_MAX_VIA; i++)
        cr_expect(is(r.x_forwarded_for.line[i], last[i]), "%u", i);
    cr_assert_eq(r.forwarded.n, 2);
    cr_expect(is(r.forwarded.line[0], "for=9") && is(r.forwarded.line[1], "for=8"));
}

Test(http, keep_alive_follows_the_client)
{
    struct http_req r;

    cr_assert_gt(parse(&r, GET "\r\n", sizeof(GET) + 1), 0);
    cr_expect(r.keep_alive && r.json && !r.has_body && r.query.p == NULL);
    cr_assert_gt(parse(&r, "GET / HTTP/1.0\r\n\r\n", 18), 0);
    cr_expect(!r.keep_alive);
    cr_assert_gt(parse(&r, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", 42), 0);
    cr_expect(r.keep_alive);
    cr_assert_gt(parse(&r, GET "Connection: keep-alive, close\r\n\r\n", sizeof(GET) + 32),
                 0);
    cr_expect(!r.keep_alive);
}

Test(http, json_is_the_default_type)
{
    static const struct {
        const char *type;
        bool json;
    } v[] = { { "application/json", true },
              { "Application/JSON; charset=utf-8", true },
              { "application/json ;x", true },
              { "application/jsonx", false },
              { "application/x-www-form-urlencoded", true },
              { "text/json", false },
              { "", false },
              { "application/problem+json", false } };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        char t[200];
        struct http_req r;
        int n = snprintf(t, sizeof(t), POST "Content-Type: %s\r\n\r\n", v[i].type);
        cr_assert_eq(parse(&r, t, (size_t)n), n);
        cr_expect_eq(r.json, v[i].json, "%s", v[i].type);
    }
}

Test(http, absolute_form_wins_over_host)
{
    struct http_req r;
    static const char a[] = "GET http://b:80/p?q HTTP/1.1\r\n" H "\r\n";
    static const char b[] = "GET http://b?q HTTP/1.1\r\n" H "\r\n";

    cr_assert_gt(parse(&r, a, sizeof(a) - 1), 0);
    cr_expect(is(r.host, "b:80") && is(r.path, "/p") && is(r.query, "q"));
    cr_assert_gt(parse(&r, b, sizeof(b) - 1), 0);
    cr_expect(is(r.host, "b") && is(r.path, "/") && is(r.query, "q"));
}

Test(http, pipelined_requests_are_taken_one_by_one)
{
    static const char t[] = POST "Content-Length: 2\r\n\r\nab" CHUNKED
                                 "2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n" GET "\r\n";
    char buf[sizeof(t) + HTTP_SLACK];
    size_t at = 0;
    const char *body[] = { "ab", "cde", NULL };

    memcpy(buf, t, sizeof(t));
    for (int i = 0; i < 3; i++) {
        struct http_req r;
        struct http_state st = { 0 };
        int64_t rc = http_parse(&st, &r, buf + at, sizeof(t) - 1 - at);
        cr_assert_gt(rc, 0);
        cr_expect(body[i] == NULL ? r.body.n == 0 : is(r.body, body[i]), "request %d", i);
        at += (size_t)rc;
    }
    cr_expect_eq(at, sizeof(t) - 1);
}

Test(http, continue_is_wanted_only_before_the_body)
{
    static const char t[] = POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab";
    size_t n = sizeof(t) - 1;
    struct http_state st = { 0 };
    struct http_req r;

    cr_expect_eq(parse_at_guard(&st, &r, t, n - 3), 0);
    cr_expect(!st.want_continue && st.head_len == 0);
    cr_expect_eq(parse_at_guard(&st, &r, t, n - 2), 0);
    cr_expect(st.want_continue && st.head_len == n - 2);
    cr_expect_eq(parse_at_guard(&st, &r, t, n), (int64_t)n);
}

/* Makes: prefix, `n` times `c`, suffix; parses whole, and cut at `n` places. */
static int64_t padded(const char *prefix, char c, size_t n, const char *suffix)
{
    static char t[ROOM];
    size_t a = strlen(prefix), b = strlen(suffix);
    struct http_req r;
    int64_t whole;

    memcpy(t, prefix, a);
    memset(t + a, c, n);
    memcpy(t + a + n, suffix, b);
    whole = parse(&r, t, a + n + b);
    for (size_t cut = 0; cut < a + n + b; cut += 1 + n / 50) {
        struct http_state st = { 0 };
        int64_t rc = parse_at_guard(&st, &r, t, cut);
        if (rc == 0)
            rc = parse_at_guard(&st, &r, t, a + n + b);
        cr_expect_eq(rc, whole, "cut %zu", cut);
    }
    return whole;
}

Test(http, limits)
{
    cr_expect_gt(padded("GET /", 'a', 8192 - 16, " HTTP/1.1\r\n" H "\r\n"), 0);
    cr_expect_eq(padded("GET /", 'a', 8192 - 15, " HTTP/1.1\r\n" H "\r\n"), -414);
    cr_expect_eq(padded("GET /", 'a', 100000, ""), -414);
    cr_expect_eq(padded("", 'a', 8191, ""), 0);
    cr_expect_eq(padded("", 'a', 8192, ""), -400);
    cr_expect_gt(padded(GET "X: ", 'a', 16384 - sizeof(GET) - 6, "\r\n\r\n"), 0);
    cr_expect_eq(padded(GET "X: ", 'a', 16384 - sizeof(GET) - 5, "\r\n\r\n"), -431);
    cr_expect_eq(padded(GET "X: ", 'a', 100000, ""), -431);
    cr_expect_gt(padded(GET, 'a', 256, ": 1\r\n\r\n"), 0);
    cr_expect_eq(padded(GET, 'a', 257, ": 1\r\n\r\n"), -431);
    cr_expect_eq(padded(CHUNKED "1;", 'a', 300, "\r\nx\r\n0\r\n\r\n"), -400);
    cr_expect_gt(padded(CHUNKED "1;", 'a', 200, "\r\nx\r\n0\r\n\r\n"), 0);
    cr_expect_gt(padded(POST "Content-Length: 16384\r\n\r\n", 'a', 16384, ""), 0);
    cr_expect_gt(padded(CHUNKED "4000\r\n", 'a', 16384, "\r\n0\r\n\r\n"), 0);
    cr_expect_eq(padded(CHUNKED "4000\r\n", 'a', 16384, "\r\n1\r\nx\r\n"), -413);
    cr_expect_eq(padded(CHUNKED "0\r\nT: ", 'a', 70000, "\r\n\r\n"), -413);
}

Test(http, hundred_fields_and_no_more)
{
    char t[4096];

    for (int more = 0; more < 2; more++) {
        size_t n = (size_t)sprintf(t, "GET / HTTP/1.1\r\n" H);
        struct http_req r;
        for (int i = 1; i < 100 + more; i++)
            n += (size_t)sprintf(t + n, "X%d: %d\r\n", i, i);
        n += (size_t)sprintf(t + n, "\r\n");
        cr_expect_eq(parse(&r, t, n), more ? -431 : (int64_t)n);
    }
}

Test(http, tiny_chunks_are_bounded)
{
    static char t[ROOM];
    size_t n = (size_t)sprintf(t, CHUNKED);
    struct http_req r;

    for (int i = 0; i < 16384; i++)
        n += (size_t)sprintf(t + n, "1\r\nx\r\n");
    cr_expect_eq(parse(&r, t, n), -413);
}

Test(http, unescape)
{
    static const struct {
        const char *in, *out; /* out NULL: refused */
    } v[] = { { "abc", "abc" },
              { "a%41c", "aAc" },
              { "%7e%7E", "~~" },
              { "", "" },
              { "%252f", "%2f" },
              { "a%2fb", NULL },
              { "a%2Fb", NULL },
              { "%00", NULL },
              { "%4", NULL },
              { "%", NULL },
              { "%zz", NULL },
              { "%4g", NULL },
              { "x%C3%BCy", "x\xc3\xbcy" } };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        char b[32];
        int64_t n;

        strcpy(b, v[i].in);
        n = http_unescape(b, strlen(b));
        if (v[i].out == NULL) {
            cr_expect_eq(n, -1, "%s", v[i].in);
            continue;
        }
        cr_expect(n == (int64_t)strlen(v[i].out) && memcmp(b, v[i].out, (size_t)n) == 0,
                  "%s", v[i].in);
    }
}

Test(http, reasons)
{
    cr_expect_str_eq(http_reason(404), "Not Found");
    cr_expect_str_eq(http_reason(799), "Unknown");
}
