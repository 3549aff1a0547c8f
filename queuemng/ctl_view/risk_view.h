/* risk_view.h: the consequences of an order for people, in sentences. Pure. */
#ifndef SEGQ_CTL_RISK_VIEW_H
#define SEGQ_CTL_RISK_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

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
