/* budgets.h: budgets are defined, changed, removed, stored and read. Pure.
 *
 * Stored: budget/NAME {version, def}. Members name it; one with members is not removed. */
#ifndef SEGQ_QUEUEMNG_RELEASE_BUDGETS_H
#define SEGQ_QUEUEMNG_RELEASE_BUDGETS_H

#include "common/base/err.h"
#include "common/base/list.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/policy/claim.h"
#include "queuemng/policy/release.h"

struct json_t;
struct mbudget;
struct mng;
struct queue_def;

struct mbudget { /* limits that queues and endpoints share that name it; their parts: claim.h */
    struct budget_def def;  /* owned */
    uint64_t version;       /* version of the definition */
    struct release release; /* controller of its limits by metrics */
    struct bears whole;     /* now */
    uint64_t queues_slots;  /* held by its queues, when mng.count_no was counted_no; then */
    const struct mqueue *asked; /* asked, and may hold more than these: */
    uint64_t asked_slots, counted_no;
    struct mleft {
        uint64_t slots;
        msec_t until_ms;
    } calls, people; /* use by endpoints and queues that are gone: may go on; a manager that begins knows
                        nothing of them */
    struct list_node in;    /* mng.budgets */
};

#define each_budget(m, b)   list_each_of(&(m)->budgets, struct mbudget, in, b)

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
