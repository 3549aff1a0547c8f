/* call.c: form 1 | method | path | name, value of each header | empty name | body. Method, path,
 * names and values have their length in front (varint); the body is the rest. */
#include "common/task/call.h"

#include <assert.h>
#include <string.h>

#include "common/base/hex.h"
#include "common/base/varint.h"

#define FORM 1

/* ---- what may be said ---------------------------------------------------------------------- */

static bool all_of(const char *p, size_t n, bool (*is)(char))
{
    for (size_t i = 0; i < n; i++)
        if (!is(p[i]))
            return false;
    return true;
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_plain(char c) /* letters and digits */
{
    return is_capital(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_one_of(char c, const char *set)
{
    return c != 0 && strchr(set, c) != NULL;
}

static bool is_name(char c) /* RFC 9110 5.6.2, token */
{
    return is_plain(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
}

static bool is_value(char c) /* RFC 9110 5.5: visible, blank, tab, and what is no ASCII */
{
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

static bool is_path(char c) /* RFC 3986 3.3 */
{
    return is_plain(c) || is_one_of(c, "/-._~!$&'()*+,;=:@%");
}

static bool is_query(char c) /* and what browsers leave unescaped there */
{
    return is_path(c) || is_one_of(c, "?|{}[]^`\\");
}

static bool is_text(struct call_span t, const char *s)
{
    return t.n == strlen(s) && memcmp(t.p, s, t.n) == 0;
}

bool call_method_ok(const char *p, size_t n)
{
    struct call_span t = { p, n };

    return n > 0 && n <= CALL_METHOD_MAX && all_of(p, n, is_capital) && !is_text(t, "CONNECT") &&
           !is_text(t, "TRACE");
}

/* The character at *i, unescaped, and *i behind it; -1: no escape, or one of a zero. */
static int unescaped(const char *p, size_t n, size_t *i)
{
    int c;

    if (p[*i] != '%')
        return (unsigned char)p[(*i)++];
    c = hex_byte(p + *i + 1, p + n);
    *i += 3;
    return c != 0 ? c : -1;
}

/* A part is between slashes, as the most lenient target sees them; ";x" behind a name is none. */
static const char *parts_wrong(const char *p, size_t n)
{
    size_t dots = 0, others = 0;
    bool named = false; /* behind a ';' */

    for (size_t i = 0; i < n;) {
        int c = unescaped(p, n, &i);

        if (c < 0)
            return "has an escape that is none";
        if (c == '/' || c == '\\') {
            if (others == 0 && (dots == 1 || dots == 2))
                return "has a part that is . or ..";
            dots = others = 0;
            named = false;
        } else if (c == ';') {
            named = true;
        } else if (!named) {
            dots += c == '.';
            others += c != '.';
        }
    }
    return others == 0 && (dots == 1 || dots == 2) ? "has a part that is . or .." : NULL;
}

const char *call_path_wrong(const char *p, size_t n)
{
    const char *mark = n > 0 ? memchr(p, '?', n) : NULL;
    size_t path_n = mark != NULL ? (size_t)(mark - p) : n;

    if (n == 0 || p[0] != '/')
        return "does not begin with a slash";
    if (n > CALL_PATH_MAX)
        return "is too long";
    if (!all_of(p, path_n, is_path) || !all_of(p + path_n, n - path_n, is_query))
        return "has a character that must be escaped";
    return parts_wrong(p, path_n);
}

bool call_header_is(const char *name, const char *lower, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = name[i] == '_' ? '-' : is_capital(name[i]) ? (char)(name[i] | 0x20) : name[i];

        if (c != lower[i])
            return false;
    }
    return true;
}

bool call_header_refused(const char *name, size_t n)
{
    static const char *const of_connection[] = {
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
        "host", "content-length", "expect",
    };
    static const char *const ours[] = { "segq-", "webhook-" };

    for (size_t i = 0; i < ARRAY_LEN(of_connection); i++)
        if (strlen(of_connection[i]) == n && call_header_is(name, of_connection[i], n))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (strlen(ours[i]) <= n && call_header_is(name, ours[i], strlen(ours[i])))
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

const char *call_header_wrong(const char *name, size_t name_n, const char *value, size_t value_n)
{
    if (name_n == 0 || !all_of(name, name_n, is_name))
        return "has a name that is none";
    if (call_header_refused(name, name_n))
        return "is not passed on";
    if (!all_of(value, value_n, is_value))
        return "has a control character";
    if (value_n > 0 && (is_blank(value[0]) || is_blank(value[value_n - 1])))
        return "has a blank at an end";
    return name_n + value_n > CALL_HEAD_MAX ? "is too long" : NULL;
}

/* ---- made ---------------------------------------------------------------------------------- */

static void put_text(struct buf *b, struct call_span t)
{
    uint8_t *to = buf_room(b, VARINT_MAX);

    if (to == NULL)
        return;
    b->len = (size_t)(varint_put(to, t.n) - b->data);
    buf_append(b, t.p, t.n);
}

void call_pack_begin(struct buf *out, struct call_span method, struct call_span path)
{
    assert(call_method_ok(method.p, method.n) && call_path_wrong(path.p, path.n) == NULL);
    buf_byte(out, FORM);
    put_text(out, method);
    put_text(out, path);
}

void call_pack_header(struct buf *out, struct call_span name, struct call_span value)
{
    assert(call_header_wrong(name.p, name.n, value.p, value.n) == NULL);
    put_text(out, name);
    put_text(out, value);
}

void call_pack_body(struct buf *out, struct call_span body)
{
    put_text(out, (struct call_span){ 0 });
    buf_append(out, body.p, body.n);
}

/* ---- read ---------------------------------------------------------------------------------- */

static bool get_text(struct call_span *rest, struct call_span *t)
{
    const uint8_t *p = (const uint8_t *)rest->p, *end = p + rest->n;
    uint64_t n;

    p = varint_get(p, end, &n);
    if (p == NULL || n > (uint64_t)(end - p))
        return false;
    *t = (struct call_span){ (const char *)p, n };
    *rest = (struct call_span){ t->p + n, (size_t)((const char *)end - t->p) - n };
    return true;
}

static bool get_headers(struct call_span *rest, struct call_span *headers)
{
    struct call_span name, value;
    size_t bytes = 0;

    headers->p = rest->p;
    for (unsigned count = 0;; count++) {
        headers->n = (size_t)(rest->p - headers->p);
        if (!get_text(rest, &name))
            return false;
        if (name.n == 0)
            return bytes <= CALL_HEAD_MAX && count <= CALL_HEADERS_MAX;
        if (!get_text(rest, &value) ||
            call_header_wrong(name.p, name.n, value.p, value.n) != NULL)
            return false;
        bytes += name.n + value.n;
    }
}

int call_unpack(const uint8_t *p, size_t n, struct call *c)
{
    struct call_span rest;

    *c = (struct call){ 0 };
    if (n == 0 || n > TASK_BODY_MAX || p[0] != FORM)
        return SQ_EPROTO;
    rest = (struct call_span){ (const char *)p + 1, n - 1 };
    if (!get_text(&rest, &c->method) || !get_text(&rest, &c->path) ||
        !call_method_ok(c->method.p, c->method.n) ||
        call_path_wrong(c->path.p, c->path.n) != NULL || !get_headers(&rest, &c->headers))
        return SQ_EPROTO;
    c->body = rest;
    return 0;
}

bool call_header_next(struct call_span *rest, struct call_span *name, struct call_span *value)
{
    return rest->n > 0 && get_text(rest, name) && get_text(rest, value);
}
