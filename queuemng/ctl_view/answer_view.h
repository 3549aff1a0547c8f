/* answer_view.h: single answers as text: definitions, tickets, limits, refusals, and what
 * happened: to a ticket, by operators, in the cluster; the consequences of an order for people, in
 * sentences. Pure. */
#ifndef SEGQ_CTL_ANSWER_VIEW_H
#define SEGQ_CTL_ANSWER_VIEW_H

#include "queuemng/ctl_view/columns.h"

/* GET /v1/admin/queues, and so on */
ctl_view view_queues, view_pools, view_routes, view_budgets, view_suspects;
/* A ticket, a line per member; "lane vip, position 12, about 3 min"; GET /v1/admin/tickets/{token} */
ctl_view view_ticket, view_place, view_why;

/* The limits of a definition after the tiers of `metric` were changed. */
void view_limits(struct buf *b, const json_t *def, const char *metric);
/* "was: cpu: below 50: 2 000/s ...", of the definition before a change. */
void view_limits_were(struct buf *b, const json_t *def, const char *metric);

/* GET /v1/admin/audit, and the events of /v1/admin/live; the youngest last. */
ctl_view view_audit, view_events;

/* problem+json (NULL: the body was something else): what was wrong, on one line. */
void view_problem(struct buf *b, int status, const json_t *problem);

ctl_view view_pretty; /* any JSON, indented */

/* Answers to orders: "login: paused (was open); 57 people wait"; held: a key that was not pinned;
 * detail: "ok: " and the answer's detail. */
ctl_view view_state, view_flushed, view_released, view_tripped, view_undrained, view_held, view_unpinned,
    view_deleted, view_discarded, view_left, view_rebind, view_detail;

/* queue: an element of `queues` of /v1/admin/live; node: of `nodes`. */
enum risk { RISK_NONE, RISK_FLUSH, RISK_REJECT, RISK_DELETE, RISK_FINAL, RISK_PASSTHROUGH, RISK_SHADOW };
void view_risk(struct buf *b, enum risk risk, const json_t *queue);
/* The risk of setting these keys of a queue's definition: of `state` alone. */
enum risk risk_of_keys(const json_t *keys);
/* Is it much to let n in at once where so many go in by themselves? Cannot be undone. */
bool risk_of_release(uint64_t n, const json_t *queue);
void view_release_risk(struct buf *b, uint64_t n, const json_t *queue);
ctl_view view_forget, view_drain; /* says how the order will end */
/* queue; opens_in_ms, opened_ms ago, closes_in_ms, closed_ms ago, as far as they are there: a mistyped date is seen by it. */
ctl_view view_opening;

#endif
