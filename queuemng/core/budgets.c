/* budgets.c: see the header. */
#include "queuemng/core/budgets.h"

#include <string.h>

#include "queuemng/core/monitors.h"
#include "queuemng/core/step.h"
#include "queuemng/release/budget_parts.h"
#include "queuemng/release/budgets.h"
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

/* ---- seen ------------------------------------------------------------------------ */

static struct bears both(struct bears a, struct bears b)
{
    return (struct bears){ u64_min(a.rate + b.rate, ENDPOINT_ANY), u64_min(a.slots + b.slots, ENDPOINT_ANY) };
}

static struct mng_member_view endpoint_view(struct mendpoint *x)
{
    struct mng_member_view v = { .kind = "endpoint", .name = x->def.name,
                                 .weight = x->def.budget.weight, .part = x->claim.aim };

    each_share(x, s) {
        v.used = both(v.used, (struct bears){ s->held.rate, s->st.in_flight });
        v.held = both(v.held, s->held);
    }
    return v;
}

void mng_each_member(const struct mng *m, const char *budget, mng_each_fn fn, void *ctx)
{
    each_queue(m, q)
        if (strcmp(q->def.budget.name, budget) == 0) {
            struct mng_member_view v = { "queue", q->def.name, q->def.budget.weight, q->claim.aim,
                                         { q->budget_rate, slots_inside(m, q) },
                                         budget_queue_holds(m, q) };

            fn(ctx, &v);
        }
    each_endpoint(m, x)
        if (strcmp(x->def.budget.name, budget) == 0) {
            struct mng_member_view v = endpoint_view(x);

            fn(ctx, &v);
        }
}

static void add_used(void *ctx, const void *view)
{
    struct bears *n = ctx;

    *n = both(*n, ((const struct mng_member_view *)view)->used);
}

void mng_each_budget(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_budget(m, b) {
        struct mng_budget_view v = { .def = &b->def, .version = b->version,
                                     .limited_by = b->release.limited_by, .whole = b->whole,
                                     .held = budget_held(m, b) };

        mng_each_member(m, b->def.name, add_used, &v.used);
        fn(ctx, &v);
    }
}
