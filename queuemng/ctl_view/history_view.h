/* history_view.h: what happened, as text: to a ticket, by operators, in the cluster. Pure. */
#ifndef SEGQ_CTL_HISTORY_VIEW_H
#define SEGQ_CTL_HISTORY_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

/* GET /v1/admin/tickets/{token} */
void view_why(struct buf *b, const json_t *doc);
/* GET /v1/admin/audit, and the events of /v1/admin/live; the youngest last. */
void view_audit(struct buf *b, const json_t *audit);
void view_events(struct buf *b, const json_t *live);

#endif
