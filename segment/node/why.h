/* why.h: what this node knows about one ticket. */
#ifndef SEGQ_SEG_NODE_WHY_H
#define SEGQ_SEG_NODE_WHY_H

#include "segment/core/opts.h"

struct msg_why;
struct msg_why_ans;
struct segtab;

/* State and times of one ticket; no poll: it times out as ever. a->lines is "". */
void segtab_why(struct segtab *t, struct seg_now now, const struct msg_why *q,
                struct msg_why_ans *a);

#endif
