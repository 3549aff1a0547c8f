/* snapshot.h: the whole state as records, a few segments at a time, and as one number. */
#ifndef SEGQ_SEG_RESTORE_SNAPSHOT_H
#define SEGQ_SEG_RESTORE_SNAPSHOT_H

#include "segment/core/opts.h"

struct jrec;
struct segtab;

/* The whole state as records, some segments (at least one, and about n blocks of them) per
 * call; changes in between go to the log, as always. A replay takes the records of a whole
 * snapshot first, and then what was logged since it was begun. begin: from the start, even
 * if one is under way. true: there is more. */
bool segtab_snapshot(struct segtab *t, bool begin, uint64_t n_blocks,
                     void (*put)(void *ctx, const struct jrec *r), void *ctx);

/* A number over all that a replay restores: equal tables, equal digests. */
uint64_t segtab_digest(const struct segtab *t);

#endif
