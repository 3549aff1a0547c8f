/* leave.h: leaves: MSG_DROP. */
#ifndef SEGQ_SEG_TICKETS_LEAVE_H
#define SEGQ_SEG_TICKETS_LEAVE_H

#include "segment/core/opts.h"

struct drop_ans;
struct drop_req;
struct segtab;
struct location;

void segtab_drop(struct segtab *t, struct seg_now now, const struct drop_req *req,
                 uint32_t n, struct drop_ans *ans);
/* Ends the ticket's place, its session, or its return to a segment under rebuild. */
void segtab_leave(struct segtab *t, const struct location *s);

#endif
