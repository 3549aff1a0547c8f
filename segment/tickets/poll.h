/* poll.h: polls: MSG_PLACE. */
#ifndef SEGQ_SEG_TICKETS_POLL_H
#define SEGQ_SEG_TICKETS_POLL_H

#include "segment/table/opts.h"

struct arena;
struct place_ans;
struct place_req;
struct segtab;

void segtab_place(struct segtab *t, struct seg_now now, const struct place_req *req,
                  uint32_t n, struct place_ans *ans, struct arena *mem);

#endif
