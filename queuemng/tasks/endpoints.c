/* endpoints.c: see the header. */
#include "queuemng/tasks/endpoints.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/release/budget_parts.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/orders.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

static bool has_pool(const struct mng *m, const char *name)
{
    each_pool(m, p)
        if (strcmp(p->def.endpoint, name) == 0)
            return true;
    return false;
}

static int make_pool(struct mng *m, const char *name, struct err *e)
{
    struct pool_def d = { 0 };
    struct cfg_node *doc = NULL;
    char json[2 * TASK_NAME_MAX + 40]; /* a name has nothing that must be escaped */
    int rc;

    snprintf(json, sizeof(json), "{\"match\":\"%s\",\"endpoint\":\"%s\"}", name, name);
    rc = cfg_parse_json(&doc, json, strlen(json), e);
    if (rc == 0)
        rc = cfg_bind(&d, sizeof(d), pool_def_keys, doc, NULL, e);
    if (rc == 0)
        rc = pool_def_check(&d, e);
    if (rc == 0)
        rc = pool_define(m, NULL, &d, e);
    cfg_clear(&d, pool_def_keys);
    cfg_node_free(doc);
    return rc;
}

static int endpoint_make(struct mng *m, const struct endpoint_def *d, bool own_pool, struct err *e)
{
    struct mendpoint *x;
    int rc = 0;

    if (m->tasks.endpoints.n >= ENDPOINTS_MAX)
        return err_set(e, SQ_ECONFLICT, "endpoint %s: a cluster has at most %d", d->name,
                       ENDPOINTS_MAX);
    if (own_pool && defined_find(m, DEF_POOL, d->name) != NULL)
        return err_set(e, SQ_ECONFLICT, "endpoint %s: there is a pool of this name whose tasks "
                       "workers take: delete it, or give the endpoint another name", d->name);
    x = defined_new(m, DEF_ENDPOINT, d);
    if (x == NULL)
        return err_set(e, SQ_ENOMEM, "endpoint %s: out of memory", d->name);
    list_init(&x->shares);
    if (own_pool)
        rc = make_pool(m, d->name, e);
    if (rc < 0) {
        endpoint_free(m, x);
        return rc;
    }
    endpoint_put_later(m, x);
    log_info("event=endpoint_created endpoint=%s url=%s", d->name, log_q(d->url, strlen(d->url)));
    return 0;
}

static int endpoint_change(struct mng *m, struct mendpoint *x, const struct endpoint_def *d,
                           struct err *e)
{
    int rc;

    if (defined_equals(DEF_ENDPOINT, x, d))
        return 0;
    if (strcmp(x->def.url, d->url) != 0)
        task_map_changed(m);
    if (strcmp(x->def.budget.name, d->budget.name) != 0)
        budget_leaves(m, x);
    rc = defined_change(DEF_ENDPOINT, x, d, e);
    if (rc < 0)
        return rc;
    endpoint_put_later(m, x);
    log_info("event=endpoint_changed endpoint=%s version=%llu", d->name,
             (unsigned long long)x->version);
    return 0;
}

static int define(struct mng *m, struct mendpoint *x, const struct endpoint_def *d, bool own_pool,
                  struct err *e)
{
    if (budget_named(m, &d->budget, e) < 0)
        return err_wrap(e, "endpoint %s", d->name);
    return x == NULL ? endpoint_make(m, d, own_pool && !has_pool(m, d->name), e)
                     : endpoint_change(m, x, d, e);
}

int endpoint_define(struct mng *m, void *x, const void *def, struct err *e)
{
    return define(m, x, def, true, e);
}

int endpoint_define_alone(struct mng *m, void *x, const void *def, struct err *e)
{
    return define(m, x, def, false, e);
}

static uint64_t next_number(struct mng *m)
{
    return (m->epoch << 32) + ++m->tasks.serials;
}

void endpoint_order(struct mng *m, struct mendpoint *x, enum endpoint_order o)
{
    if (o == ENDPOINT_TRIP && x->tripped)
        return;
    x->orders = next_number(m);
    if (o == ENDPOINT_PROBE) {
        x->probe = x->orders;
        m->tasks.split = true;
        log_info("event=endpoint_probed endpoint=%s", x->def.name);
        return;
    }
    x->tripped = o == ENDPOINT_TRIP;
    x->resets = o == ENDPOINT_RESET ? x->orders : x->resets;
    endpoint_put_later(m, x);
    if (x->tripped)
        log_warn("event=endpoint_tripped endpoint=%s", x->def.name);
    else
        log_info("event=endpoint_reset endpoint=%s", x->def.name);
}

int endpoint_may_remove(const struct mng *m, const void *endpoint, bool final, struct err *e)
{
    const struct mendpoint *x = endpoint;

    if (final)
        return 0;
    each_pool(m, p) {
        int rc = 0;

        if (strcmp(p->def.endpoint, x->def.name) != 0)
            continue;
        if (strcmp(p->def.match, x->def.name) == 0)
            rc = pool_may_remove(m, p, false, e);
        else
            rc = err_set(e, SQ_ECONFLICT, "endpoint %s: the tasks of pool %s are calls to it. With "
                         "final=true the pools go with it", x->def.name, p->def.match);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void endpoint_remove(struct mng *m, void *endpoint)
{
    struct mendpoint *x = endpoint;

    log_warn("event=endpoint_removed endpoint=%s", x->def.name);
    budget_leaves(m, x);
    each_pool(m, p)
        if (strcmp(p->def.endpoint, x->def.name) == 0)
            pool_remove(m, p);
    each_share(x, s)
        endpoint_drop(m, s->node, x->def.name);
    defined_del(m, DEF_ENDPOINT, x);
    endpoint_free(m, x);
}
