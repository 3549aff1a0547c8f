/* callback.c: see callback.h. */
#include "common/submit/callback.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/task/call.h"

static struct call_span span(struct slice s)
{
    return (struct call_span){ s.p, s.n };
}

static struct call_span literal(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

static struct slice slice_of(const char *s)
{
    return (struct slice){ (char *)(uintptr_t)s, strlen(s) };
}

static bool begin(struct buf *form, struct call_span method, struct slice path, struct body_error *e)
{
    const struct slice none = { 0 };
    const char *wrong = call_path_wrong(path.p, path.n);

    if (!call_method_ok(method.p, method.n))
        return json_say(e, "method: must be capital letters, and neither CONNECT nor TRACE", none, "");
    if (wrong != NULL)
        return json_say(e, "path ", none, wrong);
    call_pack_begin(form, method, span(path));
    return true;
}

struct head { /* head of the form that is made */
    struct buf *form;
    unsigned n;
    size_t bytes;
    bool typed; /* a Content-Type is there */
};

static bool is_name(struct slice name, const char *lower)
{
    return name.n == strlen(lower) && strncasecmp(name.p, lower, name.n) == 0;
}

static bool add(struct head *h, struct slice name, struct slice value, struct body_error *e)
{
    const char *wrong = call_header_wrong(name.p, name.n, value.p, value.n);

    if (wrong != NULL) {
        json_say(e, "headers: ", name, " ");
        *text_str(e->text + strlen(e->text), wrong) = '\0';
        return false;
    }
    h->bytes += name.n + value.n;
    if (++h->n > CALL_HEADERS_MAX || h->bytes > CALL_HEAD_MAX)
        return json_say(e, "headers: there are too many", (struct slice){ 0 }, "");
    h->typed = h->typed || is_name(name, "content-type");
    call_pack_header(h->form, span(name), span(value));
    return true;
}

/* Also for a target to which _ and - are one. */
static bool is_idem(struct slice name)
{
    static const char idem[] = "idempotency-key";

    return name.n == sizeof(idem) - 1 && call_header_is(name.p, idem, name.n);
}

/* ---- of JSON ----------------------------------------------------------------------------- */

static bool add_all(struct head *h, const struct task_body *b, struct body_error *e)
{
    const struct slice none = { 0 };
    struct slice name, value;
    struct json_scan s;
    bool first = true;

    json_scan_init(&s, b->headers);
    if (json_scan_peek(&s) != '{' || !json_scan_enter(&s, '{'))
        return json_say(e, "headers must be an object of strings", none, "");
    while (json_scan_member(&s, &first, &name)) {
        if (json_scan_peek(&s) != '"' || !json_scan_text(&s, &value))
            return json_say(e, "headers: ", name, " must be a string");
        if (b->is_tenants && is_idem(name))
            return json_say(e, "headers: ", name, " is not passed on for a tenant; say idempotency_key");
        if (!add(h, name, value, e))
            return false;
    }
    return s.why == NULL || json_say(e, s.why, none, "");
}

int64_t callback_base64(struct slice text)
{
    const char *end;
    size_t n;

    if (text.n == 0)
        return 0;
    if (sodium_base642bin((uint8_t *)text.p, text.n, text.p, text.n, NULL, &n, &end,
                          sodium_base64_VARIANT_ORIGINAL) < 0 || end != text.p + text.n)
        return -1;
    return (int64_t)n;
}

static unsigned bodies(const struct task_body *b)
{
    return (unsigned)__builtin_popcount(b->has & (WITH(BODY) | WITH(BODY_JSON) | WITH(BODY_BASE64)));
}

bool callback_of_body(struct buf *form, const struct task_body *b, size_t *body_n,
                      struct body_error *e)
{
    const struct slice none = { 0 };
    struct head h = { .form = form };
    struct slice body = b->body_json.n > 0 ? b->body_json : b->body;
    int64_t n;

    *e = (struct body_error){ 0 };
    if (bodies(b) > 1)
        return json_say(e, "body, body_json and body_base64 exclude each other", none, "");
    if (!begin(form, b->method.n > 0 ? span(b->method) : literal("POST"), b->path, e) ||
        (b->headers.n > 0 && !add_all(&h, b, e)))
        return false;
    if (b->body_json.n > 0 && !h.typed &&
        !add(&h, slice_of("content-type"), slice_of("application/json"), e))
        return false;
    if ((b->has & WITH(BODY_BASE64)) != 0) {
        n = callback_base64(b->body_base64);
        if (n < 0)
            return json_say(e, "body_base64 must be base64, with padding", none, "");
        body = (struct slice){ b->body_base64.p, (size_t)n };
    }
    if (body.n > 0 && is_name(b->method, "head"))
        return json_say(e, "method: a HEAD has no body", none, "");
    *body_n = body.n;
    call_pack_body(form, span(body));
    return true;
}

/* ---- of a request ------------------------------------------------------------------------ */

static bool is_one_of(struct slice name, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_name(name, v[i]))
            return true;
    return false;
}

/* Said to us, or what an answer that is kept cannot follow. Conditions of a change are the target's:
 * without them a PUT would write over what it was to spare. */
static bool is_for_us(const struct http_req *q, struct slice name, unsigned drops)
{
    static const char *const v[] = { "prefer", "accept-encoding", "range", "if-range" };
    static const char *const of_reads[] = { "if-none-match", "if-match", "if-modified-since",
                                            "if-unmodified-since" };
    bool reads = q->method == HTTP_GET || q->method == HTTP_HEAD;

    return is_one_of(name, v, ARRAY_LEN(v)) ||
           (reads && is_one_of(name, of_reads, ARRAY_LEN(of_reads))) ||
           ((drops & CALLBACK_NO_AUTH) != 0 && is_name(name, "authorization")) ||
           ((drops & CALLBACK_NO_IDEM) != 0 && is_idem(name));
}

static struct call_span method_of(const struct http_req *q)
{
    static const char *const words[] = {
        [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD", [HTTP_POST] = "POST", [HTTP_PUT] = "PUT",
        [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH", [HTTP_OPTIONS] = "OPTIONS",
        [HTTP_OTHER] = "",
    };

    return literal(words[q->method]);
}

bool callback_of_request(struct buf *form, const struct http_req *q, struct slice path, unsigned drops,
                         struct body_error *e)
{
    struct head h = { .form = form };
    struct slice rest = q->fields, name, value;

    *e = (struct body_error){ 0 };
    if (!begin(form, method_of(q), path, e))
        return false;
    while (http_next_field(&rest, &name, &value))
        if (!call_header_refused(name.p, name.n) && !is_for_us(q, name, drops) &&
            !http_connection_names(q->fields, name) && !add(&h, name, value, e))
            return false;
    if (q->in_pieces && q->method == HTTP_HEAD)
        return json_say(e, "method: a HEAD has no body", (struct slice){ 0 }, "");
    if (q->in_pieces)
        call_pack_file(form);
    else
        call_pack_body(form, span(q->body));
    return true;
}
