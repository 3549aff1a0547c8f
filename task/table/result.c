/* result.c: form 1 | length, 8 bytes, the lowest first | SHA-256 | bytes. */
#include "task/table/result.h"

#include <sodium.h>
#include <string.h>

#define FORM 1

_Static_assert(crypto_hash_sha256_BYTES == RESULT_SHA256, "SHA-256");
_Static_assert(RESULT_HEAD + TASK_RESULT_MAX <= TASK_BODY_MAX, "a body has room for a result");

void result_pack(const uint8_t *p, uint32_t n, uint64_t most, struct buf *out)
{
    uint8_t head[RESULT_HEAD] = { FORM };

    for (unsigned i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)((uint64_t)n >> 8 * i);
    crypto_hash_sha256(head + 9, p, n);
    buf_append(out, head, sizeof(head));
    buf_append(out, p, n < most ? n : (size_t)most);
}

int result_unpack(const uint8_t *p, size_t n, struct result *r)
{
    *r = (struct result){ 0 };
    if (n < RESULT_HEAD || n - RESULT_HEAD > TASK_RESULT_MAX || p[0] != FORM)
        return SQ_EPROTO;
    for (unsigned i = 0; i < 8; i++)
        r->length |= (uint64_t)p[1 + i] << 8 * i;
    r->sha256 = p + 9;
    r->p = p + RESULT_HEAD;
    r->n = (uint32_t)(n - RESULT_HEAD);
    return r->length >= r->n ? 0 : SQ_EPROTO;
}
