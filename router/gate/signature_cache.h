/* signature_cache.h: passes whose signature was found good, so that it is checked once: an Ed25519
 * check costs 60 us, finding a verdict 0.2. Pure (crypto only); fixed memory.
 *
 * Keyed by a SipHash-128 of the whole pass under a key of this process: nobody outside can
 * make two passes meet, or aim at a place in the table. Sets of four; a newcomer takes the
 * place of the one that expires soonest. Losing a verdict costs one more check.
 * A verdict says what the pass says: whether it has expired or was revoked is asked anew
 * each time. */
#ifndef SEGQ_VERDICTS_H
#define SEGQ_VERDICTS_H

#include "common/base/base.h"

#define VERDICT_KEY_BYTES 16
#define VERDICT_TEXT_MAX  416 /* most passes' lines take 150 */

struct verdict {
    uint64_t hash[2];           /* 0, 0: empty */
    int64_t nbf_s, exp_s;
    msec_t again_ms;            /* it is not renewed before */
    seg_id seg;                 /* the ticket: "jti" */
    uint32_t number;
    uint16_t len;               /* of text */
    char queue[NAME_MAX_LEN + 1];
    char text[VERDICT_TEXT_MAX]; /* header lines of the answer, each with CRLF */
};

struct verdicts;

/* entries: rounded up to a power of two, about 540 bytes each, touched as they are used.
 * NULL: no memory. */
struct verdicts *verdicts_new(size_t entries, const uint8_t key[VERDICT_KEY_BYTES]);
void verdicts_free(struct verdicts *v);
void verdicts_hash(const struct verdicts *v, const char *pass, size_t n, uint64_t hash[2]);
/* NULL: not here. Borrowed until the next call. */
const struct verdict *verdicts_find(const struct verdicts *v, const uint64_t hash[2]);
void verdicts_put(struct verdicts *v, const struct verdict *x);
void verdicts_again(struct verdicts *v, const uint64_t hash[2], msec_t ms); /* if it is here */
void verdicts_clear(struct verdicts *v); /* the keys have changed */

#endif
