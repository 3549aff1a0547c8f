/* budgets.h: budgets are defined, changed, removed, stored and read. Pure.
 *
 * Stored: budget/NAME {version, def}. Members name it; one with members is not removed. */
#ifndef SEGQ_QUEUEMNG_BUDGETS_H
#define SEGQ_QUEUEMNG_BUDGETS_H

#include "common/base/err.h"
#include "queuemng/policy/budget_def.h"

struct json_t;
struct mbudget;
struct mng;
struct queue_def;

struct mbudget *budget_find(const struct mng *m, const char *name); /* NULL: there is none */
/* SQ_EINVAL, SQ_ECONFLICT, SQ_ENOMEM. */
SQ_CHECK int budget_define(struct mng *m, const struct budget_def *d, struct err *e);
/* SQ_ECONFLICT: it has members. */
SQ_CHECK int budget_remove(struct mng *m, struct mbudget *b, struct err *e);
void budget_free(struct mng *m, struct mbudget *b);
SQ_CHECK int budget_load(struct mng *m, const char *key, struct json_t *j, struct err *e);

/* May it name this budget? SQ_EINVAL: there is none; a queue must count who is inside, if the budget
 * has max_active. */
SQ_CHECK int budget_named(const struct mng *m, const struct budget_member *x, struct err *e);
SQ_CHECK int budget_takes_queue(const struct mng *m, const struct queue_def *d, struct err *e);

#endif
