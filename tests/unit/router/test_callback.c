/* test_callback.c: a call that a caller says in JSON, or a request that is passed on, becomes the
 * call form; what is wrong is said by its name. */
#include "common/submit/submission.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"

static struct buf form;
static struct body_error err;

static void reset(void)
{
    buf_fini(&form);
    buf_init(&form);
}

/* Of JSON. NULL: it is made. */
static const char *made(const char *json)
{
    static char text[20000];
    struct task_body b;
    size_t n;

    cr_assert(strlen(json) < sizeof(text));
    strcpy(text, json);
    reset();
    if (!task_body_whole(&b, (struct slice){ text, strlen(text) }, CALL_MEMBERS, &err))
        return err.text;
    if (!callback_of_body(&form, &b, &n, &err))
        return err.text;
    cr_expect_leq(form.len, strlen(json) + CALLBACK_MORE);
    return NULL;
}

static struct call whole(void)
{
    struct call c;

    cr_assert_eq(call_unpack(form.data, form.len, &c), 0);
    return c;
}

static bool is(struct call_span t, const char *s)
{
    return t.n == strlen(s) && memcmp(t.p, s, t.n) == 0;
}

/* "name=value;..." of all headers */
static const char *headers(void)
{
    static char text[2000];
    struct call_span rest = whole().headers, name, value;
    char *w = text;

    while (call_header_next(&rest, &name, &value))
        w += sprintf(w, "%.*s=%.*s;", (int)name.n, name.p, (int)value.n, value.p);
    *w = '\0';
    return text;
}

Test(callback, json_says_a_call)
{
    cr_assert_null(made("{\"path\":\"/a?b=1\",\"method\":\"PUT\",\"headers\":{\"X-A\":\"\\u00e9\",\"b\":\"\"},"
                        "\"body\":\"text\"}"));
    cr_expect(is(whole().method, "PUT") && is(whole().path, "/a?b=1") && is(whole().body, "text"));
    cr_expect_str_eq(headers(), "X-A=\xc3\xa9;b=;");
    cr_assert_null(made("{\"path\":\"/\"}"));
    cr_expect(is(whole().method, "POST") && whole().body.n == 0);
    cr_expect_str_eq(headers(), "");
    cr_assert_null(made("{\"path\":\"/\",\"body\":\"\"}"));
}

Test(callback, a_body_is_json_or_bytes)
{
    cr_assert_null(made("{\"path\":\"/\",\"body_json\":{\"a\":  1}}"));
    cr_expect(is(whole().body, "{\"a\":  1}"));
    cr_expect_str_eq(headers(), "content-type=application/json;");
    cr_assert_null(made("{\"path\":\"/\",\"body_json\":1,\"headers\":{\"Content-Type\":\"a/b\"}}"));
    cr_expect_str_eq(headers(), "Content-Type=a/b;");
    cr_assert_null(made("{\"path\":\"/\",\"body_base64\":\"AGH/\"}"));
    cr_expect(whole().body.n == 3 && memcmp(whole().body.p, "\0a\xff", 3) == 0);
    cr_assert_null(made("{\"path\":\"/\",\"body_base64\":\"\"}"));
    cr_expect_eq(whole().body.n, 0);
}

Test(callback, what_is_wrong_is_named)
{
    static const char *const v[][2] = {
        { "{\"path\":\"a\"}", "path does not begin with a slash" },
        { "{\"path\":\"/a/%2e%2e\"}", "path has a part that is . or .." },
        { "{\"path\":1}", "path must be a string of 1 to 8192 bytes" },
        { "{\"path\":\"/\",\"method\":\"get\"}",
          "method: must be capital letters, and neither CONNECT nor TRACE" },
        { "{\"path\":\"/\",\"method\":\"HEAD\",\"body\":\"a\"}", "method: a HEAD has no body" },
        { "{\"path\":\"/\",\"headers\":{\"Host\":\"a\"}}", "headers: Host is not passed on" },
        { "{\"path\":\"/\",\"headers\":{\"a\":\"b\\r\\nc: d\"}}", "headers: a has a control character" },
        { "{\"path\":\"/\",\"headers\":{\"a\":1}}", "headers: a must be a string" },
        { "{\"path\":\"/\",\"headers\":[1]}", "headers must be an object of strings" },
        { "{\"path\":\"/\",\"body\":\"a\",\"body_json\":1}",
          "body, body_json and body_base64 exclude each other" },
        { "{\"path\":\"/\",\"body_base64\":\"a\"}", "body_base64 must be base64, with padding" },
    };

    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        const char *why = made(v[i][0]);

        cr_assert_not_null(why, "%s", v[i][0]);
        cr_expect_str_eq(why, v[i][1]);
    }
}

Test(callback, headers_have_an_end)
{
    char json[4000], *w = json;

    w += sprintf(w, "{\"path\":\"/\",\"headers\":{");
    for (unsigned i = 0; i <= CALL_HEADERS_MAX; i++)
        w += sprintf(w, "%s\"a%u\":\"\"", i > 0 ? "," : "", i);
    strcpy(w, "}}");
    cr_expect_str_eq(made(json), "headers: there are too many");
}

Test(callback, a_header_of_ours_counts_too)
{
    char json[4000], *w = json;

    w += sprintf(w, "{\"path\":\"/\",\"body_json\":1,\"headers\":{");
    for (unsigned i = 0; i < CALL_HEADERS_MAX; i++)
        w += sprintf(w, "%s\"a%u\":\"\"", i > 0 ? "," : "", i);
    strcpy(w, "}}");
    cr_expect_str_eq(made(json), "headers: there are too many");
}

static char raw[4000 + HTTP_SLACK];

/* A request that is passed on. NULL: it is made. */
static const char *passed_on(const char *text, bool ours)
{
    struct http_state st = { 0 };
    struct http_req q;

    memset(raw, 0, sizeof(raw));
    strcpy(raw, text);
    cr_assert_gt(http_parse(&st, &q, raw, strlen(text)), 0);
    reset();
    return callback_of_request(&form, &q, q.path, ours, &err) ? NULL : err.text;
}

Test(callback, a_request_is_passed_on_without_what_is_of_the_connection_or_ours)
{
    const char *text = "PATCH /a HTTP/1.1\r\nHost: us\r\nX-A: 1\r\nConnection: close, x-hop\r\nX-Hop: 2\r\n"
                       "Content-Length: 2\r\nsegq-token: secret\r\nPrefer: wait=1\r\nAccept-Encoding: gzip\r\n"
                       "Authorization: Bearer b\r\nIdempotency-Key: k\r\n\r\nhi";

    cr_assert_null(passed_on(text, false));
    cr_expect(is(whole().method, "PATCH") && is(whole().path, "/a") && is(whole().body, "hi"));
    cr_expect_str_eq(headers(), "X-A=1;Authorization=Bearer b;Idempotency-Key=k;");
    cr_assert_null(passed_on(text, true));
    cr_expect_str_eq(headers(), "X-A=1;Idempotency-Key=k;");
    cr_expect_str_eq(passed_on("GET /a/../b HTTP/1.1\r\nHost: us\r\n\r\n", true),
                     "path has a part that is . or ..");
    cr_expect_str_eq(passed_on("BREW /a HTTP/1.1\r\nHost: us\r\n\r\n", true),
                     "method: must be capital letters, and neither CONNECT nor TRACE");
}
