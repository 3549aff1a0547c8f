/* answer_view.h: single answers as text: definitions, tickets, limits, refusals, and what
 * happened: to a ticket, by operators, in the cluster. Pure. */
#ifndef SEGQ_CTL_ANSWER_VIEW_H
#define SEGQ_CTL_ANSWER_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

void view_queues(struct buf *b, const json_t *doc);  /* GET /v1/admin/queues */
void view_pools(struct buf *b, const json_t *doc);   /* GET /v1/admin/pools */
void view_routes(struct buf *b, const json_t *doc); /* GET /v1/admin/routes */
void view_budgets(struct buf *b, const json_t *doc); /* GET /v1/admin/budgets */

/* A ticket, a line per member. */
void view_ticket(struct buf *b, const json_t *ticket);
void view_place(struct buf *b, const json_t *ticket); /* "lane vip, position 12, about 3 min" */
/* GET /v1/admin/tickets/{token} */
void view_why(struct buf *b, const json_t *doc);

/* The limits of a definition after the tiers of `metric` were changed. */
void view_limits(struct buf *b, const json_t *def, const char *metric);
/* "was: cpu: below 50: 2 000/s ...", of the definition before a change. */
void view_limits_were(struct buf *b, const json_t *def, const char *metric);

/* GET /v1/admin/audit, and the events of /v1/admin/live; the youngest last. */
void view_suspects(struct buf *b, const json_t *doc); /* GET /v1/admin/suspects */
void view_audit(struct buf *b, const json_t *audit);
void view_events(struct buf *b, const json_t *live);

/* problem+json (NULL: the body was something else): what was wrong, on one line. */
void view_problem(struct buf *b, int status, const json_t *problem);

/* Any JSON, indented. */
void view_pretty(struct buf *b, const json_t *doc);

#endif
