/* budget_view.h: budgets and their members as text. Pure. */
#ifndef SEGQ_CTL_BUDGET_VIEW_H
#define SEGQ_CTL_BUDGET_VIEW_H

#include <jansson.h>

#include "common/base/buf.h"

void view_budgets(struct buf *b, const json_t *doc); /* GET /v1/admin/budgets */

#endif
