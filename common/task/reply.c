/* reply.c: form 3 | status, 2 bytes, the low one first | length of the type | type. With header
 * fields: form 4 | status | length of the type | length of the fields, 2 bytes | 1: they were cut |
 * type | fields. The forms of a result without it are 1 and 2 (task/table/result.c). */
#include "common/task/reply.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"

enum { FORM = 3, FORM_FIELDS = 4 };

#define HEAD        (1 + 2 + 1)
#define HEAD_FIELDS (HEAD + 2 + 1)

bool reply_type_ok(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] > 0x7e)
            return false;
    return n <= REPLY_TYPE_MAX;
}

static bool is_one_of(const char *const *v, size_t n_v, const char *name, size_t n, bool prefix)
{
    for (size_t i = 0; i < n_v; i++) {
        size_t len = strlen(v[i]);

        if ((prefix ? n >= len : n == len) && call_header_is(name, v[i], len))
            return true;
    }
    return false;
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

    return is_one_of(kept, ARRAY_LEN(kept), name, n, false) ||
           is_one_of(families, ARRAY_LEN(families), name, n, true);
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
           !is_one_of(ours, ARRAY_LEN(ours), name, n, false) &&
           !is_one_of(families, ARRAY_LEN(families), name, n, true);
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
        fields ? FORM_FIELDS : FORM, (uint8_t)r->status, (uint8_t)(r->status >> 8), (uint8_t)kept,
        (uint8_t)r->fields.n, (uint8_t)(r->fields.n >> 8), r->fields_cut,
    };

    assert(r->status >= 100 && r->status <= REPLY_STATUS_MAX && r->fields.n <= REPLY_FIELDS_MAX);
    buf_append(out, head, fields ? HEAD_FIELDS : HEAD);
    buf_append(out, r->type, kept);
    buf_append(out, r->fields.p, r->fields.n);
}

int reply_unpack(const uint8_t *p, size_t n, struct reply *r)
{
    bool fields = n > 0 && p[0] == FORM_FIELDS;
    size_t head = fields ? HEAD_FIELDS : HEAD, fields_n;

    *r = (struct reply){ .rest = p, .rest_n = n };
    if (n == 0 || (p[0] != FORM && !fields))
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
