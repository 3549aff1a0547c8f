/* test_page_gzip.c: the waiting page, compressed: the same page, small, and no secret of it can be
 * guessed by its length. */
#define _GNU_SOURCE /* memmem */
#include "tests/lib/criterion.h"
#include <string.h>
#include <zlib.h>

#include "common/base/base.h"
#include "router/page/page.h"
#include "router/page/render.h"

#define WIRE_MAX (12 * 1024) /* bytes of the page that go to a browser */

static const char *const token = "EAAAAAhD7xg0W3mQ2s5vYkRj9nLpZcTbUfHq1aXoIw4rN8yBe6dKtGz";

static struct page *own_page(void)
{
    struct page_file f[PAGE_FILES_MAX];
    struct err e = { 0 };
    struct page *p;

    for (size_t i = 0; i < page_blobs_n; i++)
        f[i] = (struct page_file) { page_blobs[i].name, page_blobs[i].begin,
                                    (size_t)(page_blobs[i].end - page_blobs[i].begin) };
    cr_assert_eq(page_new(&p, f, page_blobs_n, &e), 0, "%s", e.text);
    return p;
}

static struct page_view view_of(enum page_state s)
{
    return (struct page_view) { .state = s,
                                .queue = "login",
                                .target = "/shop",
                                .nonce = "0123456789+/0123456789==",
                                .key = "9876543210-_9876543210",
                                .token = token,
                                .position = 123456,
                                .total = 567890,
                                .start = 246800,
                                .eta_s = 6000,
                                .poll_after_ms = 5000 };
}

/* gzip's own reader: checksum and length count. */
static size_t inflated(const struct buf *z, char *out, size_t cap)
{
    z_stream s = { .next_in = z->data, .avail_in = (uInt)z->len,
                   .next_out = (Bytef *)out, .avail_out = (uInt)cap };

    cr_assert_eq(inflateInit2(&s, 15 + 16), Z_OK);
    cr_assert_eq(inflate(&s, Z_FINISH), Z_STREAM_END, "%s", s.msg != NULL ? s.msg : "");
    cr_assert_eq(s.avail_in, 0);
    inflateEnd(&s);
    return s.total_out;
}

static size_t both(const struct page *p, const struct page_view *v, const char *what)
{
    static char out[PAGE_FILE_MAX * 4];
    struct buf plain = { 0 }, z = { 0 };
    size_t n;

    page_put(p, &plain, v);
    page_put_gzip(p, &z, v);
    cr_assert(!plain.failed && !z.failed);
    n = inflated(&z, out, sizeof(out));
    cr_expect_eq(n, plain.len, "%s", what);
    cr_expect(n == plain.len && memcmp(out, plain.data, n) == 0, "%s", what);
    n = z.len;
    buf_fini(&plain);
    buf_fini(&z);
    return n;
}

/* Each state in each language, with as much said as an operator usually says. */
Test(page_gzip, at_most_12_kb_on_the_wire)
{
    static const char said[] = "Die Server sind heute sehr gut besucht. Wir lassen alle zehn "
                               "Sekunden 500 Personen ein; bitte haben Sie etwas Geduld.";
    struct page_def d = { .title = (char *)"Frühjahrskonzerte 2027", .message = (char *)said,
                          .accent = (char *)"#c2410c", .logo = (char *)"/logo.svg" };
    struct page *p = own_page();

    for (size_t lang = 0; lang < 15; lang++)
        for (int s = 0; s < PAGE_NSTATES; s++)
            for (int how = 0; how < 3; how++) { /* open, paused, before the hour with a draw */
                struct page_view v = view_of((enum page_state)s);
                size_t n;

                v.lang = lang;
                v.kept_s = 180;
                v.def = &d;
                v.message = said;
                v.paused = how == 1;
                if (how == 2) {
                    v.position = 0;
                    v.eta_s = -1;
                    v.wall_ms = 1800000000000;
                    v.opens_ms = v.wall_ms + 3 * 86400000;
                    v.draw = "{\"commitment\":"
                             "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}";
                }
                n = both(p, &v, page_lang_tag(p, lang));
                cr_expect_leq(n, WIRE_MAX, "%s, state %d, %d: %zu", page_lang_tag(p, lang), s, how, n);
            }
    page_free(p);
}

/* An attacker who sees lengths and chooses `return` learns nothing of the token (BREACH): it is not
 * compressed, and nothing refers to it. */
Test(page_gzip, the_token_stays_apart)
{
    struct page *p = own_page();
    struct page_view v = view_of(PAGE_WAITING);
    struct buf z = { 0 };
    char right[64] = "/", wrong[64] = "/";
    size_t a, b;

    page_put_gzip(p, &z, &v);
    cr_expect(memmem(z.data, z.len, token, strlen(token)) != NULL);
    buf_fini(&z);
    for (size_t i = 0; i < 50; i++) {
        right[1 + i] = token[i];
        wrong[1 + i] = token[49 - i];
    }
    v.target = right;
    a = both(p, &v, "right");
    v.target = wrong;
    b = both(p, &v, "wrong");
    cr_expect_leq(a > b ? a - b : b - a, 3, "%zu, %zu", a, b);
    page_free(p);
}

Test(page_gzip, ready_parts_may_be_empty)
{
    struct gzip_ready r = { 0 };
    struct gzip *g;
    struct buf z = { 0 };
    struct err e = { 0 };
    char out[100];

    cr_assert_eq(gzip_ready_pack(&r, &e), 0);
    cr_assert_eq(gzip_new(&g, &e), 0);
    for (int again = 0; again < 2; again++) {
        buf_reset(&z);
        gzip_begin(g, &z);
        gzip_put(g, "", 0);
        gzip_put_ready(g, &r);
        gzip_put(g, "abcabcabcabc", 12);
        gzip_put_plain(g, "", 0);
        gzip_put_plain(g, "secret", 6);
        gzip_put(g, "abcabc", 6);
        gzip_end(g);
        cr_assert_eq(inflated(&z, out, sizeof(out)), 24);
        cr_expect(memcmp(out, "abcabcabcabcsecretabcabc", 24) == 0);
    }
    gzip_ready_fini(&r);
    gzip_free(g);
    buf_fini(&z);
}
