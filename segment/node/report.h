/* report.h: what a node says of itself: reports to the manager, figures for metrics, what it knows
 * about one ticket. */
#ifndef SEGQ_SEG_NODE_REPORT_H
#define SEGQ_SEG_NODE_REPORT_H

#include "segment/core/opts.h"

struct msg_why;
struct msg_why_ans;
struct outbox;
struct seg;
struct seg_status;
struct segtab;

/* Since the last report a segment has sealed itself, or is filling up: joins may soon have
 * to wait for the manager to open the next one, so it should hear of it in this turn
 * (SEGTAB_REPORT) and not at the next tick. */
bool segtab_urgent(const struct segtab *t);
/* A manager's link is up: this node's name and bounds, and everything that is here. */
void segtab_register(struct segtab *t, peer_no manager, struct outbox *out);
/* Every segment, with what it has absorbed and what was not stored. */
void segtab_report_all(struct segtab *t, peer_no manager, struct outbox *out);
/* The segments that have changed; once a second all in which somebody waits. */
void segtab_report_changes(struct segtab *t, struct outbox *out);
/* Reports a segment, as the answer to an order; `gone` if it is not here. */
void segtab_report_one(struct segtab *t, seg_id id, peer_no to, struct outbox *out);
/* Fills in the state, without the lists. */
void segtab_status(const struct seg *g, struct seg_status *s);
/* Adds its releases that are not stored yet: said again and again until they are. */
void segtab_list_marks(const struct seg *g, struct seg_status *s, struct outbox *out);

void segtab_count(const struct segtab *t, struct segtab_counts *c);
/* For the simulation: calls fn for every ticket that is waiting here, in order per
 * segment: the token's (seg, number) and the hosting segment. */
void segtab_each_waiting(const struct segtab *t, void (*fn)(void *ctx, seg_id host,
                         seg_id seg, uint32_t number), void *ctx);
/* Also: every segment here, as it would be reported. */
void segtab_each_seg(const struct segtab *t, void (*fn)(void *ctx,
                     const struct seg_status *s), void *ctx);

/* State and times of one ticket; no poll: it times out as ever. a->lines is "". */
void segtab_why(struct segtab *t, struct seg_now now, const struct msg_why *q,
                struct msg_why_ans *a);

#endif
