/* payload.c: a byte 1, the length of the type, the type, the bytes. */
#include "common/task/payload.h"

#include <assert.h>
#include <string.h>

#define MARK 1u
#define HEAD 2u

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

    if (n < HEAD || b[0] != MARK || b[1] > n - HEAD)
        return out;
    out.typed = true;
    out.type = (struct call_span){ (const char *)b + HEAD, b[1] };
    out.bytes = (struct call_span){ (const char *)b + HEAD + b[1], n - HEAD - b[1] };
    if (!payload_type_ok(out.type.p, out.type.n))
        out.type = (struct call_span){ PAYLOAD_ANY, sizeof(PAYLOAD_ANY) - 1 };
    return out;
}
