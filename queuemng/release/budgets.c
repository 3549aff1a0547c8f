/* budgets.c: see the header. */
#include "queuemng/release/budgets.h"

#include <string.h>

#include "common/base/log.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "budget"

/* ---- members --------------------------------------------------------------------- */

int budget_named(const struct mng *m, const struct budget_member *x, struct err *e)
{
    if (x->name[0] == 0 || defined_find(m, DEF_BUDGET, x->name) != NULL)
        return 0;
    return err_set(e, SQ_EINVAL, "there is no budget %s", x->name);
}

static int counts_inside(const struct budget_def *b, const struct queue_def *d, struct err *e)
{
    if (b->max_active == 0 || d->mode != MODE_RATE)
        return 0;
    return err_set(e, SQ_EINVAL, "budget %s has max_active: queue %s must count who is inside (mode "
                   "slots or both)", b->name, d->name);
}

int budget_takes_queue(const struct mng *m, const struct queue_def *d, struct err *e)
{
    const struct mbudget *b = defined_find(m, DEF_BUDGET, d->budget.name);
    int rc = budget_named(m, &d->budget, e);

    return rc < 0 || b == NULL ? rc : counts_inside(&b->def, d, e);
}

int budget_may_remove(const struct mng *m, const void *x, bool final, struct err *e)
{
    const struct mbudget *b = x;

    (void)final; /* members are not given up for it */
    each_queue(m, q)
        if (strcmp(q->def.budget.name, b->def.name) == 0)
            return err_set(e, SQ_ECONFLICT, "budget %s: queue %s has it%s", b->def.name, q->def.name,
                           q->deleted_until_ms == 0 ? "" : ": it was deleted a moment ago; delete it "
                           "for good first (DELETE ...?final=true)");
    each_endpoint(m, p)
        if (strcmp(p->def.budget.name, b->def.name) == 0)
            return err_set(e, SQ_ECONFLICT, "budget %s: endpoint %s has it", b->def.name, p->def.name);
    return 0;
}

void budget_remove(struct mng *m, void *x)
{
    struct mbudget *b = x;

    log_warn("event=budget_removed budget=%s", b->def.name);
    defined_del(m, DEF_BUDGET, b);
    defined_free(m, DEF_BUDGET, b);
}

/* ---- defined --------------------------------------------------------------------- */

static int change(struct mng *m, struct mbudget *b, const struct budget_def *d, struct err *e)
{
    int rc = 0;

    if (defined_equals(DEF_BUDGET, b, d))
        return 0;
    each_queue(m, q)
        if (rc == 0 && strcmp(q->def.budget.name, d->name) == 0)
            rc = counts_inside(d, &q->def, e);
    if (rc < 0)
        return rc;
    rc = defined_change(DEF_BUDGET, b, d, e);
    if (rc == 0)
        b->release = (struct release){ 0 };
    return rc;
}

int budget_define(struct mng *m, void *x, const void *def, struct err *e)
{
    const struct budget_def *d = def;
    struct mbudget *b = x;
    int rc = 0;

    if (b != NULL)
        rc = change(m, b, d, e);
    else if (m->budgets.n >= BUDGETS_MAX)
        rc = err_set(e, SQ_ECONFLICT, "budget %s: a cluster has at most %d", d->name, BUDGETS_MAX);
    else if ((b = defined_new(m, DEF_BUDGET, d)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "budget %s: out of memory", d->name);
    if (rc == 0) {
        defined_put(m, DEF_BUDGET, b, defined_json(DEF_BUDGET, b));
        log_info("event=budget_changed budget=%s version=%llu", d->name, (unsigned long long)b->version);
    }
    return rc;
}
