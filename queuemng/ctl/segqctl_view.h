/* segqctl_view.h: the cluster's JSON answers as text for people. Pure.
 * Members that are missing or of another type print as "-" or 0: a newer or older
 * queuemng is still shown. */
#ifndef SEGQ_SEGQCTL_VIEW_H
#define SEGQ_SEGQCTL_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

/* GET /v1/admin/cluster. queue NULL: all of them, and if they are many the busiest, with
 * the number of those left out (all: none is); else only that one. False: it has no such
 * queue (nothing is appended). */
bool view_cluster(struct buf *b, const json_t *cluster, const char *queue, bool all);

/* GET /v1/admin/queues */
void view_queues(struct buf *b, const json_t *queues);

/* GET /v1/admin/audit, and the events of /v1/admin/live: the youngest last. */
void view_audit(struct buf *b, const json_t *audit);
void view_events(struct buf *b, const json_t *live);

/* A ticket, a line per member. */
void view_ticket(struct buf *b, const json_t *ticket);

/* GET /v1/admin/tickets/{token}; segqctl_why.c */
void view_why(struct buf *b, const json_t *doc);

void view_done(struct buf *b, const json_t *doc); /* "ok" */
void view_detail(struct buf *b, const json_t *doc); /* "ok: " and what the answer says */

/* segqctl_risk.c: what an order will do to how many people. queue: an element of `queues` of
 * /v1/admin/live; node: of `nodes`. */
enum risk { RISK_FLUSH, RISK_REJECT, RISK_DELETE, RISK_FINAL };
void view_risk(struct buf *b, enum risk risk, const json_t *queue);
void view_forget(struct buf *b, const json_t *node);
/* What an order to drain this node will come to. */
void view_drain(struct buf *b, const json_t *node);

/* The answer to a move, and the ticket as it is now (NULL: not known). */
void view_moved(struct buf *b, const json_t *moved, const json_t *now);

/* The limits of a definition after the tiers of `metric` were changed. */
void view_limits(struct buf *b, const json_t *def, const char *metric);

/* problem+json (NULL: the body was something else): what was wrong, on one line. */
void view_problem(struct buf *b, int status, const json_t *problem);

#endif
