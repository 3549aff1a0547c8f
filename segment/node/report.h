/* report.h: reports to the manager. */
#ifndef SEGQ_SEG_NODE_REPORT_H
#define SEGQ_SEG_NODE_REPORT_H

#include "segment/core/opts.h"

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

#endif
