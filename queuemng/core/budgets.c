/* budgets.c: see the header. */
#include "queuemng/core/budgets.h"

#include <string.h>

#include "queuemng/budgets/budgets.h"
#include "queuemng/budgets/parts.h"
#include "queuemng/core/monitors.h"
#include "queuemng/core/step.h"
#include "queuemng/state/out.h"
#include "queuemng/state/slots.h"

int mng_budget_put(struct mng *m, msec_t now_ms, const struct budget_def *d, struct mng_out *out,
                   struct err *e)
{
    const struct mbudget *b = budget_find(m, d->name);
    int rc = metrics_check(m, &d->limits, b != NULL ? &b->def.limits : NULL, e);

    if (rc < 0)
        return err_wrap(e, "budget %s", d->name);
    mng_begin(m, now_ms, out);
    rc = budget_define(m, d, e);
    mng_end(m);
    return rc;
}

const struct budget_def *mng_budget_get(const struct mng *m, const char *name, uint64_t *version)
{
    const struct mbudget *b = budget_find(m, name);

    if (b != NULL && version != NULL)
        *version = b->version;
    return b != NULL ? &b->def : NULL;
}

int mng_budget_delete(struct mng *m, msec_t now_ms, const char *name, struct mng_out *out,
                      struct err *e)
{
    struct mbudget *b = budget_find(m, name);
    int rc;

    if (b == NULL)
        return err_set(e, SQ_EUNKNOWN, "no budget %s", name);
    mng_begin(m, now_ms, out);
    rc = budget_remove(m, b, e);
    mng_end(m);
    return rc;
}

void mng_each_budget(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_budget(m, b) {
        struct mng_budget_view v = { .def = &b->def, .version = b->version,
                                     .limited_by = b->release.limited_by, .whole = b->whole,
                                     .used = budget_used(m, b) };

        fn(ctx, &v);
    }
}

void mng_each_member(const struct mng *m, const char *budget, mng_each_fn fn, void *ctx)
{
    each_queue(m, q) {
        struct mng_member_view v = { "queue", q->def.name, q->def.budget.weight, q->claim.aim,
                                     { q->budget_rate, slots_inside(m, q) } };

        if (strcmp(q->def.budget.name, budget) == 0)
            fn(ctx, &v);
    }
    each_endpoint(m, x) {
        struct mng_member_view v = { "endpoint", x->def.name, x->def.budget.weight, x->claim.aim,
                                     { 0 } };

        each_share(x, s) {
            v.used.rate = u64_min(v.used.rate + s->held.rate, ENDPOINT_ANY);
            v.used.slots += s->st.in_flight;
        }
        if (strcmp(x->def.budget.name, budget) == 0)
            fn(ctx, &v);
    }
}
