/* poll.h: polls: MSG_PLACE. */
#ifndef SEGQ_SEG_TICKETS_POLL_H
#define SEGQ_SEG_TICKETS_POLL_H

#include "segment/core/opts.h"

struct arena;
struct place_ans;
struct place_req;
struct seg;
struct segtab;

void segtab_place(struct segtab *t, struct seg_now now, const struct place_req *req,
                  uint32_t n, struct place_ans *ans, struct arena *mem);

/* A poll of one ticket that does not come from anybody at this moment. */
void segtab_place_one(struct segtab *t, const struct place_req *r, struct place_ans *a,
                      struct arena *mem);

/* A poll this long after the join shows that its answer has arrived: the idempotency key is
 * not needed any more. (Earlier it may be the router that asks, for a join that it holds.)
 * Not written down: a node that starts anew forgets it again. */
void segtab_forget_key(struct segtab *t, struct seg *g, uint32_t slot);

#endif
