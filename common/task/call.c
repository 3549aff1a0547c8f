/* call.c: form 1 | method | path | name, value of each header | empty name | body. Method, path,
 * names and values have their length in front (varint); the body is the rest. Form 2: the rest is a
 * struct call_file: length, 8 bytes, the lowest first | upload, likewise | SHA-256. A program
 * that does not know form 2 makes no call of it (call_unpack() fails). */
#include "common/task/call.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/text.h"

#define FORM      1
#define FORM_FILE 2

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

bool call_method_ok(const char *p, size_t n)
{
    return n > 0 && n <= CALL_METHOD_MAX && all_of(p, n, is_capital) &&
           !text_is(p, n, "CONNECT") && !text_is(p, n, "TRACE");
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

/* A capital as its small letter; programs read both of '_' and '-' in a name as one. */
static char folded(char c)
{
    return c == '_' ? '-' : is_capital(c) ? (char)(c | 0x20) : c;
}

bool call_header_is(const char *name, const char *lower, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (folded(name[i]) != lower[i])
            return false;
    return true;
}

static bool is_listed(const char *const *v, size_t n_v, const char *name, size_t n, bool prefix)
{
    char first = n > 0 ? folded(name[0]) : '\0';

    for (size_t i = 0; i < n_v; i++) {
        size_t len = v[i][0] == first ? strlen(v[i]) : 0;

        if (len > 0 && (prefix ? n >= len : n == len) && call_header_is(name, v[i], len))
            return true;
    }
    return false;
}

bool call_header_refused(const char *name, size_t n)
{
    static const char *const of_connection[] = {
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
        "host", "content-length", "expect",
    };
    static const char *const ours[] = { "segq-", "webhook-" };

    return is_listed(of_connection, ARRAY_LEN(of_connection), name, n, false) ||
           is_listed(ours, ARRAY_LEN(ours), name, n, true);
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

void call_pack_file(struct buf *out)
{
    static const char none[CALL_FILE_BYTES];

    call_pack_body(out, (struct call_span){ none, sizeof(none) });
    if (!out->failed)
        out->data[0] = FORM_FILE;
}

void call_pack_file_end(uint8_t *form, size_t n, const struct call_file *f)
{
    uint8_t *p = form + n - CALL_FILE_BYTES;

    assert(n > CALL_FILE_BYTES && form[0] == FORM_FILE);
    memcpy(p, &(uint64_t){ htole64(f->length) }, 8);
    memcpy(p + 8, &(uint64_t){ htole64(f->upload) }, 8);
    memcpy(p + 16, f->sha256, sizeof(f->sha256));
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
    if (n == 0 || n > TASK_BODY_MAX || (p[0] != FORM && !call_has_file(p, n, &c->file)))
        return SQ_EPROTO;
    rest = (struct call_span){ (const char *)p + 1, n - 1 };
    if (!get_text(&rest, &c->method) || !get_text(&rest, &c->path) ||
        !call_method_ok(c->method.p, c->method.n) ||
        call_path_wrong(c->path.p, c->path.n) != NULL || !get_headers(&rest, &c->headers))
        return SQ_EPROTO;
    if (c->file.length == 0)
        c->body = rest;
    return c->file.length == 0 || rest.n == CALL_FILE_BYTES ? 0 : SQ_EPROTO;
}

bool call_has_file(const uint8_t *form, size_t n, struct call_file *f)
{
    const uint8_t *p = form + n - u64_min(n, CALL_FILE_BYTES);

    *f = (struct call_file){ 0 };
    if (n < 1 + CALL_FILE_BYTES || form[0] != FORM_FILE)
        return false;
    memcpy(&f->length, p, 8);
    memcpy(&f->upload, p + 8, 8);
    memcpy(f->sha256, p + 16, sizeof(f->sha256));
    f->length = le64toh(f->length);
    f->upload = le64toh(f->upload);
    return f->length > 0 && f->length <= CALL_BODY_MAX;
}

bool call_header_next(struct call_span *rest, struct call_span *name, struct call_span *value)
{
    return rest->n > 0 && get_text(rest, name) && get_text(rest, value);
}

/* ---- replies ----
 *
 * Form 3 | status, 2 bytes, the low one first | length of the type | type. With header
 * fields: form 4 | status | length of the type | length of the fields, 2 bytes | 1: they were cut |
 * type | fields. The forms of a result without it are 1 and 2 (task/node/body.c). */

enum { REPLY_FORM = 3, REPLY_FORM_FIELDS = 4 };

#define HEAD        (1 + 2 + 1)
#define HEAD_FIELDS (HEAD + 2 + 1)

/* True: may be said again in an answer of ours: printable ASCII, and not too long. */
static bool reply_type_ok(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] > 0x7e)
            return false;
    return n <= REPLY_TYPE_MAX;
}

bool reply_field_kept(const char *name, size_t n)
{
    static const char *const kept[] = {
        /* the answer's body, and what it is a version of */
        "content-disposition", "content-encoding", "content-language", "content-range", "content-digest",
        "repr-digest", "digest", "etag", "last-modified",
        /* where to go on, and what else may be asked */
        "location", "allow", "accept-patch", "accept-post", "preference-applied", "www-authenticate",
        "deprecation", "sunset", "x-total-count",
        /* when to come again (and the families below) */
        "retry-after",
        /* names of the request and of its trace; signatures */
        "request-id", "x-request-id", "x-correlation-id", "x-trace-id", "traceparent", "tracestate",
        "signature", "signature-input",
    };
    static const char *const families[] = { "ratelimit", "x-ratelimit-", "x-rate-limit-" };

    return is_listed(kept, ARRAY_LEN(kept), name, n, false) ||
           is_listed(families, ARRAY_LEN(families), name, n, true);
}

bool reply_field_may_be_added(const char *name, size_t n)
{
    /* Fields that we write, or that act on all that is under our name. */
    static const char *const ours[] = { "content-type", "date", "server", "cache-control", "vary", "age",
                                        "expires", "set-cookie", "set-cookie2", "content-security-policy",
                                        "x-content-type-options", "strict-transport-security",
                                        "clear-site-data" };
    /* Fields that proxies in front of us obey, the page reads, or browsers take for the router's word. */
    static const char *const families[] = { "x-segq-", "x-accel-", "x-sendfile", "access-control-" };

    return n > 0 && call_header_wrong(name, n, "", 0) == NULL && !call_header_refused(name, n) &&
           !is_listed(ours, ARRAY_LEN(ours), name, n, false) &&
           !is_listed(families, ARRAY_LEN(families), name, n, true);
}

bool reply_fields_ok(struct call_span fields)
{
    struct call_span name, value;

    while (fields.n > 0)
        if (!call_header_next(&fields, &name, &value) ||
            call_header_wrong(name.p, name.n, value.p, value.n) != NULL)
            return false;
    return true;
}

void reply_pack(const struct reply *r, struct buf *out)
{
    bool fields = r->fields.n > 0 || r->fields_cut;
    size_t kept = reply_type_ok(r->type, r->type_n) ? r->type_n : 0;
    const uint8_t head[HEAD_FIELDS] = {
        fields ? REPLY_FORM_FIELDS : REPLY_FORM, (uint8_t)r->status, (uint8_t)(r->status >> 8), (uint8_t)kept,
        (uint8_t)r->fields.n, (uint8_t)(r->fields.n >> 8), r->fields_cut,
    };

    assert(r->status >= 100 && r->status <= REPLY_STATUS_MAX && r->fields.n <= REPLY_FIELDS_MAX);
    buf_append(out, head, fields ? HEAD_FIELDS : HEAD);
    buf_append(out, r->type, kept);
    buf_append(out, r->fields.p, r->fields.n);
}

int reply_unpack(const uint8_t *p, size_t n, struct reply *r)
{
    bool fields = n > 0 && p[0] == REPLY_FORM_FIELDS;
    size_t head = fields ? HEAD_FIELDS : HEAD, fields_n;

    *r = (struct reply){ .rest = p, .rest_n = n };
    if (n == 0 || (p[0] != REPLY_FORM && !fields))
        return 0;
    if (n < head)
        return SQ_EPROTO;
    fields_n = fields ? p[4] | (size_t)p[5] << 8 : 0;
    if (p[3] + fields_n > n - head || fields_n > REPLY_FIELDS_MAX || (fields && p[6] > 1))
        return SQ_EPROTO;
    *r = (struct reply){ .status = p[1] | (unsigned)p[2] << 8,
                         .type = (const char *)p + head,
                         .type_n = p[3],
                         .fields = { (const char *)p + head + p[3], fields_n },
                         .fields_cut = fields && p[6] == 1,
                         .rest = p + head + p[3] + fields_n,
                         .rest_n = n - head - p[3] - fields_n };
    return r->status >= 100 && r->status <= REPLY_STATUS_MAX && reply_type_ok(r->type, r->type_n) &&
                   reply_fields_ok(r->fields)
               ? 0 : SQ_EPROTO;
}

/* ---- payloads: a byte 1, the length of the type, the type, the bytes ---- */

#define MARK 1u
#define PAYLOAD_HEAD 2u

bool payload_type_ok(const char *p, size_t n)
{
    const char *slash = n > 0 ? memchr(p, '/', n) : NULL;

    for (size_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] > 0x7e)
            return false;
    return slash != NULL && slash != p && slash + 1 < p + n && n <= REPLY_TYPE_MAX && p[0] != ' ' && p[n - 1] != ' ';
}

void payload_pack(struct buf *out, struct call_span type, struct call_span bytes)
{
    assert(type.n <= REPLY_TYPE_MAX);
    buf_byte(out, MARK);
    buf_byte(out, (uint8_t)type.n);
    buf_append(out, type.p, type.n);
    buf_append(out, bytes.p, bytes.n);
}

struct payload payload_of(const void *p, size_t n)
{
    const uint8_t *b = p;
    struct payload out = { .bytes = { p, n } };

    if (n < PAYLOAD_HEAD || b[0] != MARK || b[1] > n - PAYLOAD_HEAD)
        return out;
    out.typed = true;
    out.type = (struct call_span){ (const char *)b + PAYLOAD_HEAD, b[1] };
    out.bytes = (struct call_span){ (const char *)b + PAYLOAD_HEAD + b[1], n - PAYLOAD_HEAD - b[1] };
    if (!payload_type_ok(out.type.p, out.type.n))
        out.type = (struct call_span){ PAYLOAD_ANY, sizeof(PAYLOAD_ANY) - 1 };
    return out;
}

/* ---- an answer that is told piece by piece ---------------------------------------------- */

bool window_more(struct window_out *w, uint32_t n)
{
    if (n > w->all - w->room)
        return false;
    w->room += n;
    return true;
}

bool window_hear(struct window_in *w, uint64_t at, size_t n)
{
    if (at != w->heard || n == 0 || n + WINDOW_PIECE > w->room || (w->sized && n > w->length - w->heard))
        return false;
    w->heard += n;
    w->room -= (uint32_t)n + WINDOW_PIECE;
    w->owed += (uint32_t)n + WINDOW_PIECE;
    return true;
}

uint32_t window_taken(struct window_in *w)
{
    uint32_t n = w->owed;

    if (n < WINDOW_BYTES / 2)
        return 0;
    w->owed = 0;
    w->room += n;
    return n;
}
