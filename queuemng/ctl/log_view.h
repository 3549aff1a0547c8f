/* log_view.h: events and operators' changes, a line each, the youngest last. Pure. */
#ifndef SEGQ_CTL_LOG_VIEW_H
#define SEGQ_CTL_LOG_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

/* GET /v1/admin/audit, and the events of /v1/admin/live. */
void view_audit(struct buf *b, const json_t *audit);
void view_events(struct buf *b, const json_t *live);

#endif
