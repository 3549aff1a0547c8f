/* signature_cache.h: passes whose signature was found good, so that it is checked once: an Ed25519
 * check costs 60 us, finding a known pass 0.2. Pure (crypto only); fixed memory.
 *
 * Keyed by a SipHash-128 of the whole pass under a key of this process: nobody outside can
 * make two passes meet, or aim at a place in the table. Sets of four; a newcomer takes the
 * place of the one that expires soonest. Losing a known pass costs one more check.
 * Passes that are bound (common/ticket/bound.h) do not come here: most are good once.
 * An entry is what the pass says: whether the pass has expired or was revoked is asked anew
 * each time. */
#ifndef SEGQ_SIGNATURE_CACHE_H
#define SEGQ_SIGNATURE_CACHE_H

#include "common/base/base.h"

#define SIGCACHE_KEY_BYTES 16
#define SIGCACHE_TEXT_MAX  416 /* most passes' lines take 150 */

struct known_pass {
    uint64_t hash[2];           /* 0, 0: empty */
    int64_t nbf_s, exp_s;
    msec_t again_ms;            /* earliest moment of renewal */
    seg_id seg;                 /* the ticket: "jti" */
    uint32_t number;
    uint16_t len;               /* bytes of text */
    bool is_bound;              /* then it is not kept here */
    char queue[NAME_MAX_LEN + 1];
    char text[SIGCACHE_TEXT_MAX]; /* header lines of the answer, each with CRLF */
};

struct sigcache;

/* entries: rounded up to a power of two, about 540 bytes each, touched as they are used.
 * NULL: no memory. */
struct sigcache *sigcache_new(size_t entries, const uint8_t key[SIGCACHE_KEY_BYTES]);
void sigcache_free(struct sigcache *v);
void sigcache_hash(const struct sigcache *v, const char *pass, size_t n, uint64_t hash[2]);
/* NULL: not here. Borrowed until the next call. */
const struct known_pass *sigcache_find(const struct sigcache *v, const uint64_t hash[2]);
void sigcache_put(struct sigcache *v, const struct known_pass *x);
void sigcache_again(struct sigcache *v, const uint64_t hash[2], msec_t ms); /* if it is here */
void sigcache_clear(struct sigcache *v); /* the keys have changed */

#endif
