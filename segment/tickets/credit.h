/* credit.h: joins that are let in at once, on credit that the manager has given (SEG_CREDIT).
 *
 *   set aside    numbers that no waiting ticket gets: dead in the line, one order ahead of need
 *   credit       some of these, which the manager has stored as released: each join that finds
 *                nobody in line takes the next one, and its answer has the pass
 *
 * So a number below a stored end never waits, and nobody is admitted twice or loses a place when
 * the node is lost. The credit ends with its lease, with the first join that waits, and with
 * each registration; its end is reported, and never undone. Numbers are used in their order. */
#ifndef SEGQ_SEG_TICKETS_CREDIT_H
#define SEGQ_SEG_TICKETS_CREDIT_H

#include "segment/core/state.h"

struct append_ans;
struct append_req;

/* The order, from the peer that was last told everything; another one is not obeyed. */
void segtab_credit(struct segtab *t, struct seg *g, const struct msg_seg_credit *m);
/* Sets as many aside as the order wanted, when nobody waits any more. */
void credit_set_aside(struct segtab *t, struct seg *g);
/* May the next join be let in at once? */
bool credit_admits(const struct segtab *t, const struct seg *g);
/* Numbers that are left for that; a credit that cannot be used any more is ended by it. */
uint32_t credit_left(const struct segtab *t, const struct seg *g);
void credit_end(struct seg *g);
/* A session of the next number, ready; NULL without memory. Not written down yet. */
struct session *credit_take(struct segtab *t, struct seg *g);

/* Replays. */
SQ_CHECK int segtab_aside_again(struct seg *g, uint32_t first, uint32_t n);
SQ_CHECK int segtab_entered_again(struct segtab *t, struct seg *g, uint32_t first, uint32_t n,
                                  int64_t at_ms);

#endif
