/* result.c: form 1, cut: length, 8 bytes, the lowest first | SHA-256 | bytes. Form 2: whole. Nodes
 * before form 2 wrote form 1 of whole ones, too. */
#include "task/node/result.h"

#include <sodium.h>
#include <string.h>

enum { FORM_CUT = 1, FORM_WHOLE = 2 };

_Static_assert(crypto_hash_sha256_BYTES == RESULT_SHA256, "SHA-256");
_Static_assert(RESULT_HEAD_CUT + TASK_RESULT_MAX <= TASK_BODY_MAX, "a body has room for a result");

void result_pack(const uint8_t *p, uint32_t n, uint64_t most, struct buf *out)
{
    uint8_t sha256[RESULT_SHA256];

    if (n > most) {
        crypto_hash_sha256(sha256, p, n);
        result_pack_cut(p, (uint32_t)most, n, sha256, out);
        return;
    }
    buf_byte(out, FORM_WHOLE);
    buf_append(out, p, n);
}

void result_pack_cut(const uint8_t *p, uint32_t n, uint64_t length,
                     const uint8_t sha256[RESULT_SHA256], struct buf *out)
{
    uint8_t head[RESULT_HEAD_CUT] = { FORM_CUT };

    for (unsigned i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)(length >> 8 * i);
    memcpy(head + 9, sha256, RESULT_SHA256);
    buf_append(out, head, sizeof(head));
    buf_append(out, p, n);
}

static int unpack_cut(const uint8_t *p, struct result *r)
{
    for (unsigned i = 0; i < 8; i++)
        r->length |= (uint64_t)p[1 + i] << 8 * i;
    memcpy(r->sha256, p + 9, RESULT_SHA256);
    return r->length >= r->n ? 0 : SQ_EPROTO;
}

int result_unpack(const uint8_t *p, size_t n, struct result *r)
{
    bool whole = n > 0 && p[0] == FORM_WHOLE;
    size_t head = whole ? RESULT_HEAD_WHOLE : RESULT_HEAD_CUT;

    if (n < head || n - head > TASK_RESULT_MAX || (!whole && p[0] != FORM_CUT))
        return SQ_EPROTO;
    *r = (struct result){ .p = p + head, .n = (uint32_t)(n - head) };
    if (!whole)
        return unpack_cut(p, r);
    r->length = r->n;
    crypto_hash_sha256(r->sha256, r->p, r->n);
    return 0;
}
