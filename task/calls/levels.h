/* levels.h: what the rates in units of endpoints have left at a node, over a restart. Pure.
 *
 * A turn in which a bucket changed writes its level down (QUOTA), in the same group as the records of the
 * calls that took it; so it is exact to a unit, and nothing else of the journal is reckoned. A node that is
 * started anew goes on from there with what came in meanwhile, by its part of then, if the manager says that
 * it has kept that part for it (unit_kept of ENDPOINT): else others may have had it, and buckets are empty.
 * So they are with a shared store, which has nothing of the node itself. */
#ifndef SEGQ_CALLS_LEVELS_H
#define SEGQ_CALLS_LEVELS_H

#include "task/calls/endpoint.h"
#include "task/store/record.h"

/* Puts the records of all levels, or of those that have changed since this was asked; clock: a record with
 * the moment (CLOCK has the same members). read: those that levels_read() has, and no manager has told yet. */
typedef void (*level_put)(void *ctx, const struct trec *r);
void levels_changed(struct list *endpoints, const struct trec *clock, msec_t now, level_put put, void *ctx);
void levels_all(const struct list *endpoints, const struct list *read, const struct trec *clock, msec_t now,
                level_put put, void *ctx);
/* Applies a record. 0, SQ_EPROTO, SQ_ENOMEM. */
SQ_CHECK int levels_read(struct list *read, const struct trec *r);
/* The one of this endpoint; NULL: there is none. */
const struct trec *levels_find(const struct list *read, const char *name);
/* Goes on from a level that is so old; where unit_kept of m is too little, it counts for nothing. */
void levels_resume(struct endpoint *ep, const struct trec *r, const struct msg_endpoint *m, msec_t away, msec_t now);
/* Follows what the manager says of calendar windows; is_new: of what it gave before, that is left which the record
 * of before (or NULL) says. ahead: as in quota_windows. */
void levels_follow(struct endpoint *ep, bool is_new, const struct trec *r, const struct msg_endpoint *m, msec_t ahead,
                   msec_t now);
void levels_forget(struct list *read, const struct trec *r);
void levels_forget_all(struct list *read);

#endif
