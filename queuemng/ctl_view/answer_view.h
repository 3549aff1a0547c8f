/* answer_view.h: single answers as text: definitions, tickets, limits, refusals, and what
 * happened: to a ticket, by operators, in the cluster; the consequences of an order for people, in
 * sentences. Pure. */
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

/* Answers to orders: "login: paused (was open); 57 people wait". */
void view_state(struct buf *b, const json_t *doc);
void view_flushed(struct buf *b, const json_t *doc);
void view_released(struct buf *b, const json_t *doc);
void view_tripped(struct buf *b, const json_t *doc);
void view_undrained(struct buf *b, const json_t *doc);
void view_held(struct buf *b, const json_t *doc); /* a key that was not pinned */
void view_unpinned(struct buf *b, const json_t *doc);
void view_deleted(struct buf *b, const json_t *doc); /* a pool, an endpoint, a budget */
void view_discarded(struct buf *b, const json_t *doc); /* a task */
void view_left(struct buf *b, const json_t *doc);
void view_rebind(struct buf *b, const json_t *doc);
void view_detail(struct buf *b, const json_t *doc); /* "ok: " and the answer's detail */

/* queue: an element of `queues` of /v1/admin/live; node: of `nodes`. */
enum risk { RISK_NONE, RISK_FLUSH, RISK_REJECT, RISK_DELETE, RISK_FINAL, RISK_PASSTHROUGH, RISK_SHADOW };
void view_risk(struct buf *b, enum risk risk, const json_t *queue);
/* The risk of setting these keys of a queue's definition: of `state` alone. */
enum risk risk_of_keys(const json_t *keys);
/* Is it much to let n in at once where so many go in by themselves? Cannot be undone. */
bool risk_of_release(uint64_t n, const json_t *queue);
void view_release_risk(struct buf *b, uint64_t n, const json_t *queue);
void view_forget(struct buf *b, const json_t *node);
/* Says what an order to drain this node will come to. */
void view_drain(struct buf *b, const json_t *node);

#endif
