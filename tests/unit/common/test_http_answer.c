/* test_http_answer.c: answers of servers: where they end, what is none; whole, and cut at every byte. */
#include "common/http/http_answer.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>

#include "common/base/buf.h"

struct read_one {
    struct http_answer a;
    int64_t rc;  /* 0, or -status */
    size_t used; /* bytes of the answer */
    struct buf body;
    char type[32];
};

static void keep_type(struct read_one *r)
{
    struct slice rest = r->a.fields, name, v;

    r->type[0] = 0;
    while (http_next_field(&rest, &name, &v))
        if (name.n == 12 && http_ieq(name.p, "content-type", 12))
            snprintf(r->type, sizeof(r->type), "%.*s", (int)v.n, v.p);
}

/* One step through what is there; false: it takes no more. */
static bool step(struct read_one *r, char *p, size_t n)
{
    struct slice data = { 0 };
    int64_t took;

    if (r->a.part == HTTP_ANSWER_HEAD) {
        took = http_answer_head(&r->a, p, n);
        if (took > 0)
            keep_type(r);
    } else {
        took = http_answer_body(&r->a, p, n, &data);
        cr_assert(data.n == 0 || (data.p >= p && data.p + data.n <= p + n));
        if (data.n > 0)
            buf_append(&r->body, data.p, data.n);
    }
    r->rc = took < 0 ? took : 0;
    r->used += took > 0 ? (size_t)took : 0;
    return took > 0;
}

/* The first `cut` bytes come first (0: byte by byte). Each buffer is exact, but for its slack. */
static void read_all(struct read_one *r, const char *text, size_t n, size_t cut, bool to_head)
{
    buf_fini(&r->body);
    *r = (struct read_one){ .a.to_head = to_head };
    buf_init(&r->body);
    for (size_t there = cut > 0 ? cut : 1; r->rc == 0; there = cut > 0 ? n : there + 1) {
        do {
            size_t left = there - r->used;
            char *p = malloc(left + HTTP_SLACK);
            bool more;

            memcpy(p, text + r->used, left);
            memset(p + left, '\r', HTTP_SLACK);
            more = step(r, p, left);
            free(p);
            if (!more)
                break;
        } while (r->rc == 0 && r->a.part != HTTP_ANSWER_DONE);
        if (there == n || r->a.part == HTTP_ANSWER_DONE)
            break;
    }
}

static void same(const struct read_one *x, const struct read_one *y, const char *text, size_t cut)
{
    cr_assert(x->rc == y->rc && (x->rc < 0 || x->used == y->used) && x->a.part == y->a.part &&
                  x->a.status == y->a.status && x->a.keep_alive == y->a.keep_alive &&
                  x->a.minor == y->a.minor && strcmp(x->type, y->type) == 0 &&
                  x->body.len == y->body.len &&
                  (x->body.len == 0 || memcmp(x->body.data, y->body.data, x->body.len) == 0),
              "cut at %zu: %s", cut, text);
}

static struct read_one r;

static void teardown(void)
{
    buf_fini(&r.body);
}

TestSuite(http_answer, .fini = teardown);

static void reads(const char *text, bool to_head)
{
    size_t n = strlen(text);
    struct read_one cut = { 0 };

    read_all(&r, text, n, n, to_head);
    for (size_t at = 0; at < n; at++) {
        read_all(&cut, text, n, at, to_head);
        same(&cut, &r, text, at);
    }
    buf_fini(&cut.body);
}

static bool body_is(const char *text)
{
    return r.body.len == strlen(text) && r.body.len > 0 && memcmp(r.body.data, text, r.body.len) == 0;
}

Test(http_answer, ends_where_its_length_says)
{
    reads("HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-TYPE: a/b \r\n\r\nhelloHTTP/1.1", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.a.status == 200 && r.a.keep_alive);
    cr_expect(body_is("hello") && r.used == 63, "%zu", r.used);
    cr_expect_str_eq(r.type, "a/b");
    reads("HTTP/1.1 404\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.a.status == 404 && !r.a.keep_alive);
    reads("HTTP/1.1 200 \r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && body_is("ab"), "equal lengths are one");
}

Test(http_answer, ends_behind_its_last_chunk)
{
    reads("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n00A\r\n0123456789\r\n"
          "0\r\nx: y\r\n\r\nmore", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.a.keep_alive && body_is("abc0123456789"));
    cr_expect_str_eq(r.type, "");
}

Test(http_answer, without_either_it_is_all_that_comes)
{
    reads("HTTP/1.1 200 OK\r\n\r\nwhat comes\r\n", false);
    cr_expect(r.a.part == HTTP_ANSWER_ALL && body_is("what comes\r\n") && !r.a.keep_alive);
    reads("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && !r.a.keep_alive, "1.0 closes");
    reads("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.a.keep_alive, "unless it says that it does not");
}

Test(http_answer, some_have_no_body_whatever_they_say)
{
    reads("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.body.len == 0);
    reads("HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.body.len == 0);
    reads("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.body.len == 0);
}

Test(http_answer, what_comes_before_the_answer_is_passed_over)
{
    reads("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nContent-Length: 7\r\nContent-Type: no\r\n\r\n"
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false);
    cr_expect(r.a.part == HTTP_ANSWER_DONE && r.a.status == 200 && body_is("x"));
    cr_expect_str_eq(r.type, "");
}

Test(http_answer, what_two_could_read_in_two_ways_is_none)
{
    static const char *const bad[] = {
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "Content-Length: 5, 5\r\n\r\n",
        "Content-Length: +5\r\n\r\n",
        "Content-Length: 0x5\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length:\r\n\r\n",
        "Content-Length: 18446744073709551621\r\n\r\n",
        "Content-Length : 5\r\n\r\n",
        " Content-Length: 5\r\n\r\n",
        "X: a\r\n folded\r\n\r\n",
        "X: a\nY: b\r\n\r\n",
        "X: a\rY: b\r\n\r\n",
        "X: a\001\r\n\r\n",
        "no colon\r\n\r\n",
        ": no name\r\n\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n",
        "Transfer-Encoding: chunked, identity\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
    };
    char text[512];

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s", bad[i]);
        reads(text, false);
        cr_expect(r.rc == -400 && r.a.wrong != NULL, "%s", bad[i]);
    }
    reads("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false);
    cr_expect_eq(r.rc, -400);
}

Test(http_answer, its_first_line_is_that_of_http_1)
{
    static const char *const bad[] = {
        "garbage\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n", "HTTP/1.1 200 OK\n\n", "http/1.1 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 200 O\001K\r\n\r\n",
        "HTTP/1.1 \r\n\r\n",
    };

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        reads(bad[i], false);
        cr_expect(r.rc == -400 && r.a.wrong != NULL, "%s", bad[i]);
    }
}

Test(http_answer, its_head_is_bounded)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "HTTP/1.1 200 OK\r\n");
    for (unsigned i = 0; i < HTTP_MAX_HEADERS; i++)
        buf_printf(&b, "x-%u: y\r\n", i);
    buf_str(&b, "\r\n");
    read_all(&r, (const char *)b.data, b.len, b.len, false);
    cr_expect_eq(r.rc, 0);
    b.len -= 2;
    buf_str(&b, "one: more\r\n\r\n");
    read_all(&r, (const char *)b.data, b.len, b.len, false);
    cr_expect_eq(r.rc, -431);
    buf_reset(&b);
    while (b.len <= HTTP_MAX_ANSWER_HEAD)
        buf_str(&b, "HTTP/1.1 100 Continue\r\n\r\n");
    read_all(&r, (const char *)b.data, b.len, b.len, false);
    cr_expect_eq(r.rc, -431, "also all that comes before it");
    buf_reset(&b);
    buf_str(&b, "HTTP/1.1 200 OK\r\nx: ");
    while (b.len <= HTTP_MAX_ANSWER_HEAD)
        buf_byte(&b, 'x');
    read_all(&r, (const char *)b.data, b.len, b.len, false);
    cr_expect_eq(r.rc, -431);
    buf_fini(&b);
}
