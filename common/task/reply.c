/* reply.c: form 3 | status, 2 bytes, the low one first | length of the type | type. The forms of a
 * result without it are 1 and 2 (task/table/result.c). */
#include "common/task/reply.h"

#include <assert.h>

#include "common/base/err.h"

#define FORM 3
#define HEAD (1 + 2 + 1)

bool reply_type_ok(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] > 0x7e)
            return false;
    return n <= REPLY_TYPE_MAX;
}

void reply_pack(unsigned status, const char *type, size_t n, struct buf *out)
{
    size_t kept = reply_type_ok(type, n) ? n : 0;
    const uint8_t head[HEAD] = { FORM, (uint8_t)status, (uint8_t)(status >> 8), (uint8_t)kept };

    assert(status >= 100 && status <= REPLY_STATUS_MAX);
    buf_append(out, head, sizeof(head));
    buf_append(out, type, kept);
}

int reply_unpack(const uint8_t *p, size_t n, struct reply *r)
{
    *r = (struct reply){ .rest = p, .rest_n = n };
    if (n == 0 || p[0] != FORM)
        return 0;
    if (n < HEAD || p[3] > n - HEAD)
        return SQ_EPROTO;
    *r = (struct reply){ .status = p[1] | (unsigned)p[2] << 8,
                         .type = (const char *)p + HEAD,
                         .type_n = p[3],
                         .rest = p + HEAD + p[3],
                         .rest_n = n - HEAD - p[3] };
    return r->status >= 100 && r->status <= REPLY_STATUS_MAX && reply_type_ok(r->type, r->type_n)
               ? 0 : SQ_EPROTO;
}
