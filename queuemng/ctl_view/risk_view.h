/* risk_view.h: the consequences of an order for people, in sentences. Pure. */
#ifndef SEGQ_CTL_RISK_VIEW_H
#define SEGQ_CTL_RISK_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

void view_done(struct buf *b, const json_t *doc);   /* "ok" */
void view_detail(struct buf *b, const json_t *doc); /* "ok: " and the answer's detail */

/* queue: an element of `queues` of /v1/admin/live; node: of `nodes`. */
enum risk { RISK_NONE, RISK_FLUSH, RISK_REJECT, RISK_DELETE, RISK_FINAL };
void view_risk(struct buf *b, enum risk risk, const json_t *queue);
void view_forget(struct buf *b, const json_t *node);
/* What an order to drain this node will come to. */
void view_drain(struct buf *b, const json_t *node);

#endif
