/* trace_view.h: one ticket's story as text. Pure. */
#ifndef SEGQ_CTL_TRACE_VIEW_H
#define SEGQ_CTL_TRACE_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

/* GET /v1/admin/tickets/{token} */
void view_why(struct buf *b, const json_t *doc);

#endif
