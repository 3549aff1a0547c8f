/* budgets.c: see the header. */
#include "queuemng/release/budgets.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/state/json_row.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "budget"

struct mbudget *budget_find(const struct mng *m, const char *name)
{
    each_budget(m, b)
        if (strcmp(b->def.name, name) == 0)
            return b;
    return NULL;
}

static void put(struct mng *m, const struct mbudget *b)
{
    char key[NAME_MAX_LEN + 16];

    snprintf(key, sizeof(key), "budget/%s", b->def.name);
    out_put_json(m, key, json_pack("{s:I,s:o}", "version", (json_int_t)b->version, "def",
                                   def_json(&b->def, budget_def_keys)));
}

static struct mbudget *make(struct mng *m, const struct budget_def *d)
{
    struct mbudget *b = calloc(1, sizeof(*b));

    if (b == NULL || cfg_copy(&b->def, sizeof(b->def), budget_def_keys, d) < 0) {
        free(b);
        return NULL;
    }
    b->version = 1;
    list_push_back(&m->budgets, &b->in);
    return b;
}

void budget_free(struct mng *m, struct mbudget *b)
{
    list_remove(&m->budgets, &b->in);
    cfg_clear(&b->def, budget_def_keys);
    free(b);
}

int budget_load(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct budget_def d = { 0 };
    struct mbudget *b = NULL;
    int rc = def_from_json(&d, sizeof(d), budget_def_keys, json_object_get(j, "def"), key, e);

    if (rc == 0 && budget_find(m, d.name) != NULL)
        rc = SQ_EPROTO;
    if (rc == 0 && (b = make(m, &d)) == NULL)
        rc = SQ_ENOMEM;
    cfg_clear(&d, budget_def_keys);
    if (b != NULL)
        b->version = (uint64_t)json_integer_value(json_object_get(j, "version"));
    return rc == 0 ? 0 : err_set(e, rc, "stored record %s: %s", key, sq_strerror(rc));
}

/* ---- members --------------------------------------------------------------------- */

int budget_named(const struct mng *m, const struct budget_member *x, struct err *e)
{
    if (x->name[0] == 0 || budget_find(m, x->name) != NULL)
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
    int rc = budget_named(m, &d->budget, e);

    return rc < 0 || d->budget.name[0] == 0
               ? rc
               : counts_inside(&budget_find(m, d->budget.name)->def, d, e);
}

int budget_remove(struct mng *m, struct mbudget *b, struct err *e)
{
    char key[NAME_MAX_LEN + 16];

    each_queue(m, q)
        if (strcmp(q->def.budget.name, b->def.name) == 0)
            return err_set(e, SQ_ECONFLICT, "budget %s: queue %s has it%s", b->def.name, q->def.name,
                           q->deleted_until_ms == 0 ? "" : ": it was deleted a moment ago; delete it "
                           "for good first (DELETE ...?final=true)");
    each_endpoint(m, x)
        if (strcmp(x->def.budget.name, b->def.name) == 0)
            return err_set(e, SQ_ECONFLICT, "budget %s: endpoint %s has it", b->def.name, x->def.name);
    log_warn("event=budget_removed budget=%s", b->def.name);
    snprintf(key, sizeof(key), "budget/%s", b->def.name);
    out_del(m, key);
    budget_free(m, b);
    return 0;
}

/* ---- defined --------------------------------------------------------------------- */

static int change(struct mng *m, struct mbudget *b, const struct budget_def *d, struct err *e)
{
    int rc = 0;

    if (cfg_equal(&b->def, d, budget_def_keys))
        return 0;
    each_queue(m, q)
        if (rc == 0 && strcmp(q->def.budget.name, d->name) == 0)
            rc = counts_inside(d, &q->def, e);
    if (rc < 0)
        return rc;
    rc = cfg_copy(&b->def, sizeof(b->def), budget_def_keys, d);
    if (rc < 0)
        return err_set(e, rc, "budget %s: %s", d->name, sq_strerror(rc));
    b->version++;
    b->release = (struct release){ 0 };
    return 0;
}

int budget_define(struct mng *m, const struct budget_def *d, struct err *e)
{
    struct mbudget *b = budget_find(m, d->name);
    int rc = budget_def_check(d, e);

    if (rc < 0)
        return rc;
    if (b != NULL)
        rc = change(m, b, d, e);
    else if (m->budgets.n >= BUDGETS_MAX)
        rc = err_set(e, SQ_ECONFLICT, "budget %s: a cluster has at most %d", d->name, BUDGETS_MAX);
    else if ((b = make(m, d)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "budget %s: out of memory", d->name);
    if (rc == 0) {
        put(m, b);
        log_info("event=budget_changed budget=%s version=%llu", d->name, (unsigned long long)b->version);
    }
    return rc;
}
