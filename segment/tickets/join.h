/* join.h: joins: MSG_APPEND. */
#ifndef SEGQ_SEG_TICKETS_JOIN_H
#define SEGQ_SEG_TICKETS_JOIN_H

#include "segment/core/opts.h"

struct append_ans;
struct append_req;
struct arena;
struct segtab;

/* Passes of those that are let in are put into mem. */
void segtab_append(struct segtab *t, struct seg_now now, const struct append_req *req,
                   uint32_t n, struct append_ans *ans, struct arena *mem);

#endif
