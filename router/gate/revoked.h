/* revoked.h: passes that ended before their time, as segment nodes have told: a set of
 * tickets, each until its pass has expired by itself. Pure. Another such set has the tickets
 * whose sessions were extended, until when; a third one those whose pass is good once and was
 * used, each with the mark of the question that used it.
 *
 * Open addressing, 24 bytes an entry, grows and shrinks with what is in it; what has
 * expired goes when the table is made anew. When there is no room with REVOKED_MAX of
 * them, or no memory, a pass stays good until it expires: that is counted. */
#ifndef SEGQ_REVOKED_H
#define SEGQ_REVOKED_H

#include "common/wire/msg.h"

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

#endif
