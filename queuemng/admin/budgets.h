/* budgets.h: definitions of budgets, and what their members use. */
#ifndef SEGQ_MNG_BUDGETS_H
#define SEGQ_MNG_BUDGETS_H

#include "queuemng/admin/answers.h"

void admin_budgets(struct admin_call *c); /* GET /v1/admin/budgets */
void admin_budget(struct admin_call *c);  /* /v1/admin/budgets/NAME */

#endif
