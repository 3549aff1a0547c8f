/* budgets.h: budgets are defined, changed, removed, stored and read. Pure.
 *
 * Stored: budget/NAME {version, def}. Members name it; one with members is not removed. */
#ifndef SEGQ_QUEUEMNG_RELEASE_BUDGETS_H
#define SEGQ_QUEUEMNG_RELEASE_BUDGETS_H

#include "common/base/err.h"
#include "queuemng/policy/budget_def.h"

struct mng;
struct queue_def;

/* A new definition (budget: NULL), or a changed one, that budget_def_check() has passed. SQ_EINVAL,
 * SQ_ECONFLICT, SQ_ENOMEM. */
SQ_CHECK int budget_define(struct mng *m, void *budget, const void *def, struct err *e);
/* SQ_ECONFLICT: it has members. */
SQ_CHECK int budget_may_remove(const struct mng *m, const void *budget, bool final, struct err *e);
void budget_remove(struct mng *m, void *budget);

/* May it name this budget? SQ_EINVAL: there is none; a queue must count who is inside, if the budget
 * has max_active. */
SQ_CHECK int budget_named(const struct mng *m, const struct budget_member *x, struct err *e);
SQ_CHECK int budget_takes_queue(const struct mng *m, const struct queue_def *d, struct err *e);

#endif
