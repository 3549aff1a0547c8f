/* passes.h: what a router remembers of passes. Pure.
 *
 *   struct revoked     passes that ended before their time, as segment nodes have told
 *   struct pass_clock  by which clock a pass is judged
 *   struct sigcache    passes whose signature was found good, so that it is checked once */
#ifndef SEGQ_ROUTER_PASSES_H
#define SEGQ_ROUTER_PASSES_H

#include "common/base/base.h"
#include "common/ticket/token.h"
#include "common/wire/msg.h"

/* ---- passes that ended before their time ----
 * A set of tickets, each until its pass has expired by itself. Another such set has the tickets
 * whose sessions were extended, until when; a third one those whose pass is good once and was
 * used, each with the mark of the question that used it.
 *
 * Open addressing, 24 bytes an entry, grows and shrinks with what is in it; what has expired goes
 * when the table is made anew. When there is no room with REVOKED_MAX of them, or no memory, a
 * pass stays good until it expires: that is counted. */

#define REVOKED_MAX (1u << 22) /* 400 MB: the table is a quarter full then */

struct revoked_row {
    seg_id seg; /* 0: free; no segment has that id */
    uint32_t number;
    uint32_t mark; /* 0: none, or not known */
    int64_t until_s;
};
_Static_assert(sizeof(struct revoked_row) == 24, "bytes of an entry");

struct revoked {
    struct revoked_row *v; /* owned */
    uint32_t n, cap;       /* cap: 0 or a power of two */
    uint32_t max;
    int64_t full_s;        /* in this second it was looked through in vain */
    uint64_t lost;         /* for want of memory, or above max */
    uint64_t seed;         /* to hide the places from outside */
};

void revoked_init(struct revoked *r, uint64_t seed);
void revoked_fini(struct revoked *r);
void revoked_add(struct revoked *r, const struct pass_row *row, int64_t now_s);
bool revoked_has(const struct revoked *r, seg_id seg, uint32_t number);
int64_t revoked_until_s(const struct revoked *r, seg_id seg, uint32_t number); /* 0: no row */
/* Marks the row, if it is there. */
void revoked_set_mark(struct revoked *r, seg_id seg, uint32_t number, uint32_t mark);
uint32_t revoked_mark(const struct revoked *r, seg_id seg, uint32_t number);

/* ---- by which clock a pass is judged ----
 * Its times are of the manager's clock of releases, which STATS tells each second; the wall clock
 * of this machine may be another.
 *
 *   the clock that is told    passes that were stamped since it is told
 *   the one told before it    passes that were stamped by then: a pass outlives a leap
 *   the wall clock            a pass that is good by it; all that counts while no clock is told
 *
 * So a pass is good for its life as its holder sees it, whatever clock is wrong. Where all
 * clocks agree to d seconds, a pass that is over is refused d + PASS_CLOCK_SLACK_MS later at
 * the latest. */

#define PASS_CLOCK_SLACK_MS 5000 /* a stamp that is late by less is of the same clock */
#define PASS_CLOCK_NBF_S    60   /* clocks of machines differ */

struct told_clock {
    bool known;
    int64_t ahead_ms;      /* lead over our monotonic clock */
    int64_t from_s, to_s;  /* passes that it stamped, Unix seconds of its own */
};

struct pass_clock {
    struct told_clock now, before;
};

/* stamp_ms: as it was told at now_ms (monotonic); 0: not told, nothing changes. */
void pass_clock_told(struct pass_clock *c, msec_t now_ms, int64_t stamp_ms);
/* Unix seconds: the time for a pass that was released at nbf_s and is good until until_s. It
 * is wall_s if the pass is good by no clock. */
int64_t pass_clock_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s, int64_t nbf_s,
                     int64_t until_s);
/* By no clock is it earlier: what ended by then is over for good. */
int64_t pass_clock_least_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s);
static inline bool pass_clock_good(int64_t at_s, int64_t nbf_s, int64_t until_s)
{
    return until_s > at_s && nbf_s <= at_s + PASS_CLOCK_NBF_S;
}

/* ---- passes whose signature was found good ----
 * An Ed25519 check costs 60 us, finding a known pass 0.2. Fixed memory.
 *
 * Keyed by a SipHash-128 of the whole pass under a key of this process: nobody outside can
 * make two passes meet, or aim at a place in the table. Sets of four; a newcomer takes the
 * place of the one that expires soonest. Losing a known pass costs one more check.
 * Passes that are bound (common/ticket/pass.h) do not come here: most are good once.
 * An entry is what the pass says: whether the pass has expired or was revoked is asked anew
 * each time. */

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
    char device[DEVICE_LEN + 1]; /* id of the only one that may show it; "": any */
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
