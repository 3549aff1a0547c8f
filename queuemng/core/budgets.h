/* budgets.h: orders of operators about budgets, and views of them. A view is good until the manager
 * takes its next step. */
#ifndef SEGQ_QUEUEMNG_CORE_BUDGETS_H
#define SEGQ_QUEUEMNG_CORE_BUDGETS_H

#include "common/base/err.h"
#include "queuemng/core/view.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/policy/claim.h"

struct mng_out;

/* Defines the budget d->name. SQ_EINVAL, SQ_ECONFLICT. */
SQ_CHECK int mng_budget_put(struct mng *m, msec_t now_ms, const struct budget_def *d,
                            struct mng_out *out, struct err *e);
/* NULL: there is none. version may be NULL. */
const struct budget_def *mng_budget_get(const struct mng *m, const char *name, uint64_t *version);
/* SQ_EUNKNOWN; SQ_ECONFLICT: it has members. */
SQ_CHECK int mng_budget_delete(struct mng *m, msec_t now_ms, const char *name, struct mng_out *out,
                               struct err *e);

struct mng_budget_view {
    const struct budget_def *def;
    uint64_t version;
    const char *limited_by;    /* the metric; "fixed", "fallback"; "" without a rate */
    struct bears whole, used;  /* now; ENDPOINT_ANY: any. used: the sum of its members' */
    struct bears held;         /* part that cannot be given to others: release/budget_parts.h */
};
void mng_each_budget(const struct mng *m, mng_each_fn fn, void *ctx);

struct mng_member_view {
    const char *kind, *name; /* "queue", "endpoint" */
    int64_t weight;
    struct bears part, used, held;
};
void mng_each_member(const struct mng *m, const char *budget, mng_each_fn fn, void *ctx);

#endif
