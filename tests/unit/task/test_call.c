/* test_call.c: the forms of a call and of what was answered: what goes in comes out; requests that
 * would be others to the target than they seem are refused, also in a form that a peer made. */
#include "common/task/call.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

static struct call_span text(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

static bool is(struct call_span t, const char *s)
{
    return t.n == strlen(s) && memcmp(t.p, s, t.n) == 0;
}

static void make(struct buf *b)
{
    buf_init(b);
    call_pack_begin(b, text("POST"), text("/v1/img?size=2&q=a|b"));
    call_pack_header(b, text("X-One"), text("1"));
    call_pack_header(b, text("accept"), text(""));
    call_pack_header(b, text("X-One"), text("two words\tand \xc3\xa9"));
    call_pack_body(b, (struct call_span){ "a\0b", 3 });
    cr_assert(!b->failed);
}

Test(call, what_goes_in_comes_out)
{
    static const char *const want[][2] = { { "X-One", "1" }, { "accept", "" },
                                           { "X-One", "two words\tand \xc3\xa9" } };
    struct call_span rest, name, value;
    struct call c;
    struct buf b;

    make(&b);
    cr_assert_eq(call_unpack(b.data, b.len, &c), 0);
    cr_expect(is(c.method, "POST") && is(c.path, "/v1/img?size=2&q=a|b"));
    cr_expect(c.body.n == 3 && memcmp(c.body.p, "a\0b", 3) == 0);
    rest = c.headers;
    for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
        cr_assert(call_header_next(&rest, &name, &value));
        cr_expect(is(name, want[i][0]) && is(value, want[i][1]));
    }
    cr_expect(!call_header_next(&rest, &name, &value));
    buf_fini(&b);
}

Test(call, one_without_headers_and_body_is_whole)
{
    struct call c;
    struct buf b;

    buf_init(&b);
    call_pack_begin(&b, text("GET"), text("/"));
    call_pack_body(&b, (struct call_span){ 0 });
    cr_assert_eq(call_unpack(b.data, b.len, &c), 0);
    cr_expect_eq(c.headers.n + c.body.n, 0);
    buf_fini(&b);
}

Test(call, a_form_that_is_cut_in_its_head_is_none)
{
    struct call c;
    struct buf b;
    size_t head;

    make(&b);
    head = b.len - 3;
    for (size_t n = 0; n <= b.len; n++) {
        uint8_t *copy = malloc(n + 1); /* a read beyond its end is seen by ASan */

        memcpy(copy, b.data, n);
        cr_expect_eq(call_unpack(copy, n, &c), n >= head ? 0 : SQ_EPROTO, "%zu bytes", n);
        free(copy);
    }
    b.data[0] = 2;
    cr_expect_eq(call_unpack(b.data, b.len, &c), SQ_EPROTO, "a later form");
    buf_fini(&b);
}

/* A form as a peer may make it, with one name and value. */
static int unpack(const char *method, const char *path, const char *name, const char *value)
{
    const char *const v[] = { method, path, name, value };
    struct call c;
    struct buf b;
    int rc;

    buf_init(&b);
    buf_byte(&b, 1);
    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        cr_assert(strlen(v[i]) < 128);
        buf_byte(&b, (uint8_t)strlen(v[i]));
        buf_str(&b, v[i]);
    }
    buf_byte(&b, 0);
    rc = call_unpack(b.data, b.len, &c);
    buf_fini(&b);
    return rc;
}

Test(call, a_body_may_be_in_a_file)
{
    struct call_file f = { .length = 5000000, .upload = 7, .sha256 = { 1, 2, 3 } }, is;
    struct call_span post = { "POST", 4 }, path = { "/x", 2 };
    struct buf b;
    struct call c;

    buf_init(&b);
    call_pack_begin(&b, post, path);
    call_pack_header(&b, (struct call_span){ "a", 1 }, (struct call_span){ "b", 1 });
    call_pack_file(&b);
    cr_expect(!call_has_file(b.data, b.len, &is), "it is not known yet");
    cr_expect_eq(call_unpack(b.data, b.len, &c), SQ_EPROTO);
    call_pack_file_end(b.data, b.len, &f);
    cr_assert(call_has_file(b.data, b.len, &is));
    cr_expect_eq(memcmp(&is, &f, sizeof(f)), 0);
    cr_assert_eq(call_unpack(b.data, b.len, &c), 0);
    cr_expect(c.body.n == 0 && c.file.length == 5000000 && c.path.n == 2 && c.headers.n > 0);
    cr_expect_eq(call_unpack(b.data, b.len - 1, &c), SQ_EPROTO);
    buf_byte(&b, 0);
    cr_expect_eq(call_unpack(b.data, b.len, &c), SQ_EPROTO);
    b.len--;
    f.length = CALL_BODY_MAX + 1;
    call_pack_file_end(b.data, b.len, &f);
    cr_expect_eq(call_unpack(b.data, b.len, &c), SQ_EPROTO, "none is so long");
    buf_fini(&b);
}

Test(call, a_method_is_capital_letters)
{
    static const char *const good[] = { "GET", "POST", "PURGE", "OPTIONS" };
    static const char *const bad[] = { "", "get", "GET ", "POST\r\n", "CONNECT", "TRACE", "M-SEARCH",
                                       "ABCDEFGHIJKLMNOPQ" };

    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        cr_expect_eq(unpack(good[i], "/", "a", ""), 0, "%s", good[i]);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(unpack(bad[i], "/", "a", ""), SQ_EPROTO, "%s", bad[i]);
}

Test(call, a_path_stays_below_its_endpoint)
{
    static const char *const good[] = { "/", "//", "/a/b", "/a%2fb", "/...", "/..a", "/a..", "/a;v=1",
                                        "/?x=../..", "/?q={\"", "/a?b?c", "/%C3%A9", "/.well-known" };
    static const char *const bad[] = { "", "a", "?", "/ ", "/a b", "/#a", "/?a#b", "/.", "/..", "/a/../b",
                                       "/./", "/%2e%2E/", "/a%2f..%5C", "/..;x/", "/.;", "/a\\..\\b",
                                       "/%", "/%4", "/%zz", "/%00", "/\xc3\xa9", "/a\r\nHost: b", "/a\tb",
                                       "http://other/" };

    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        cr_expect_eq(unpack("GET", good[i], "a", "") == 0, strchr(good[i], '"') == NULL, "%s", good[i]);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(unpack("GET", bad[i], "a", ""), SQ_EPROTO, "%s", bad[i]);
}

Test(call, headers_of_the_connection_and_ours_are_refused_in_any_spelling)
{
    static const char *const good[] = { "authorization", "Cookie", "content-type", "X-Host", "segq",
                                        "hosts", "Webhooks", "accept-encoding", "~" };
    static const char *const bad[] = { "", "Host", "HOST", "content-length", "Content_Length",
                                       "transfer-encoding", "Connection", "keep-alive", "TE", "trailer",
                                       "Upgrade", "expect", "segq-task", "Segq_Attempt", "SEGQ-",
                                       "webhook-id", "Webhook_Signature", "Proxy-Authorization", "a b",
                                       "a:", "a\r\nb", "\xc3\xa9", "(a)", "http2-settings" };

    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        cr_expect_eq(unpack("GET", "/", good[i], "v"), 0, "%s", good[i]);
    for (unsigned i = 1; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(unpack("GET", "/", bad[i], "v"), SQ_EPROTO, "%s", bad[i]);
    cr_expect_not_null(call_header_wrong("", 0, "v", 1));
}

Test(call, a_value_ends_no_line)
{
    static const char *const bad[] = { "a\r\nb: c", "a\n", "a\rb", " a", "a\t", "\x01", "\x7f" };
    const char zero[] = "a\0b";

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(unpack("GET", "/", "a", bad[i]), SQ_EPROTO, "%s", bad[i]);
    cr_expect_not_null(call_header_wrong("a", 1, zero, 3));
}

Test(call, heads_have_an_end)
{
    struct call_span value = { malloc(CALL_HEAD_MAX), CALL_HEAD_MAX - 1 };
    struct call c;
    struct buf b;

    memset((char *)value.p, 'v', CALL_HEAD_MAX);
    for (unsigned over = 0; over < 2; over++) {
        buf_init(&b);
        call_pack_begin(&b, text("GET"), text("/"));
        call_pack_header(&b, text("a"), value);
        if (over)
            call_pack_header(&b, text("a"), text(""));
        call_pack_body(&b, text(""));
        cr_expect_eq(call_unpack(b.data, b.len, &c), over ? SQ_EPROTO : 0, "bytes");
        buf_fini(&b);
        buf_init(&b);
        call_pack_begin(&b, text("GET"), text("/"));
        for (unsigned i = 0; i < CALL_HEADERS_MAX + over; i++)
            call_pack_header(&b, text("a"), text("b"));
        call_pack_body(&b, text(""));
        cr_expect_eq(call_unpack(b.data, b.len, &c), over ? SQ_EPROTO : 0, "count");
        buf_fini(&b);
    }
    free((char *)value.p);
}

Test(reply, its_head_comes_back_and_a_result_without_one_is_itself)
{
    struct reply r;
    struct buf b;

    buf_init(&b);
    reply_pack(&(struct reply){ .status = 404, .type = "text/html; charset=utf-8", .type_n = 24 }, &b);
    buf_str(&b, "\x01rest");
    cr_assert_eq(reply_unpack(b.data, b.len, &r), 0);
    cr_expect(r.status == 404 && r.type_n == 24 && memcmp(r.type, "text/html; charset=utf-8", 24) == 0);
    cr_expect(r.rest_n == 5 && memcmp(r.rest, "\x01rest", 5) == 0);
    cr_assert_eq(reply_unpack((const uint8_t *)"\x01rest", 5, &r), 0);
    cr_expect(r.status == 0 && r.type_n == 0 && r.rest_n == 5 && r.rest[0] == 1);
    cr_expect_eq(reply_unpack(b.data, 0, &r), 0);
    for (size_t n = 1; n < 28; n++)
        cr_expect_eq(reply_unpack(b.data, n, &r), SQ_EPROTO, "%zu bytes", n);
    b.data[2] = 255;
    cr_expect_eq(reply_unpack(b.data, b.len, &r), SQ_EPROTO, "no status");
    b.data[2] = 1;
    b.data[4] = '\n';
    cr_expect_eq(reply_unpack(b.data, b.len, &r), SQ_EPROTO, "a type that ends a line");
    buf_fini(&b);
}

Test(reply, a_type_that_may_not_be_said_again_is_left_out)
{
    char longer[REPLY_TYPE_MAX + 1];
    struct reply r;
    struct buf b;

    memset(longer, 't', sizeof(longer));
    buf_init(&b);
    for (unsigned i = 0; i < 3; i++) {
        buf_reset(&b);
        if (i == 0)
            reply_pack(&(struct reply){ .status = 200, .type = "a/b\r\nX: y", .type_n = 9 }, &b);
        else
            reply_pack(&(struct reply){ .status = 200, .type = longer,
                                        .type_n = sizeof(longer) - (i - 1) }, &b);
        cr_assert_eq(reply_unpack(b.data, b.len, &r), 0);
        cr_expect_eq(r.type_n, i == 2 ? REPLY_TYPE_MAX : 0);
    }
    buf_fini(&b);
}

Test(reply, its_header_fields_come_back_and_none_ends_a_line)
{
    struct call_span name = { "Link", 4 }, value = { "</p/2>; rel=next", 16 }, rest;
    struct buf fields, b;
    struct reply r;

    buf_init(&fields);
    buf_init(&b);
    call_pack_header(&fields, name, value);
    call_pack_header(&fields, (struct call_span){ "etag", 4 }, (struct call_span){ "", 0 });
    reply_pack(&(struct reply){ .status = 201, .type = "a/b", .type_n = 3,
                                .fields = { (char *)fields.data, fields.len } }, &b);
    buf_str(&b, "\x02rest");
    cr_assert_eq(reply_unpack(b.data, b.len, &r), 0);
    cr_expect(r.status == 201 && r.type_n == 3 && r.rest_n == 5 && !r.fields_cut);
    rest = r.fields;
    cr_assert(call_header_next(&rest, &name, &value));
    cr_expect(name.n == 4 && memcmp(name.p, "Link", 4) == 0 && value.n == 16);
    cr_assert(call_header_next(&rest, &name, &value));
    cr_expect(name.n == 4 && value.n == 0 && !call_header_next(&rest, &name, &value));
    for (size_t n = 1; n < b.len - 5; n++)
        cr_expect_eq(reply_unpack(b.data, n, &r), SQ_EPROTO, "%zu bytes", n);
    b.data[b.len - 7] = '\n'; /* of "etag" */
    cr_expect_eq(reply_unpack(b.data, b.len, &r), SQ_EPROTO, "a name that ends a line");
    buf_reset(&b);
    reply_pack(&(struct reply){ .status = 200, .type = "", .fields_cut = true }, &b);
    cr_expect(reply_unpack(b.data, b.len, &r) == 0 && r.fields_cut && r.fields.n == 0);
    b.data[6] = 2;
    cr_expect_eq(reply_unpack(b.data, b.len, &r), SQ_EPROTO, "neither cut nor whole");
    buf_fini(&b);
    buf_fini(&fields);
}

Test(reply, fields_of_others_origin_connection_and_proxies_are_left_out)
{
    static const char *const kept[] = { "Location", "ETag", "X-RateLimit-Remaining", "Allow", "RateLimit-Policy",
                                        "Content-Encoding", "Content-Disposition", "Retry-After",
                                        "WWW-Authenticate", "X-Request-ID", "Last-Modified" };
    static const char *const left_out[] = {
        "Connection", "Transfer-Encoding", "Content-Length", "Content-Type", "content_type", "DATE",
        "Set-Cookie", "Segq-State", "webhook-id", "X-Accel-Redirect", "x_accel_redirect",
        "X-Sendfile", "Access-Control-Allow-Origin", "Strict-Transport-Security",
        "Content-Security-Policy", "Cache-Control", "Clear-Site-Data", "X-Segq-Place", "Refresh",
        "CDN-Cache-Control", "Surrogate-Control", "Surrogate-Key", "Set-Login", "Critical-CH", "Accept-CH",
        "Link", "Vary", "X-Robots-Tag", "X-Nobody-Knows-Yet", "Content-", "ETagg", "Integrity-Policy",
    };

    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        cr_expect(reply_field_kept(kept[i], strlen(kept[i])), "%s", kept[i]);
    for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
        cr_expect_not(reply_field_kept(left_out[i], strlen(left_out[i])), "%s", left_out[i]);
    cr_expect(reply_field_may_be_added("X-Shop-Version", 14) && reply_field_may_be_added("Link", 4));
    for (const char *const *no = (const char *const[]){ "", "a b", "Set-Cookie", "set_cookie", "Content-Type",
                                                        "Transfer-Encoding", "segq-x", "X-Segq-Place",
                                                        "x_accel_redirect", "X-Accel-Buffering", "X-Sendfile",
                                                        "Access-Control-Allow-Origin", "Clear-Site-Data",
                                                        "Strict-Transport-Security", NULL }; *no != NULL; no++)
        cr_expect_not(reply_field_may_be_added(*no, strlen(*no)), "%s", *no);
}
