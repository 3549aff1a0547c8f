/* call_routes.c: see the header. */
#include "queuemng/tasks/call_routes.h"

#include <string.h>

#include "common/base/log.h"
#include "queuemng/state/defined.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

static bool names(const struct route_def *d, const char *endpoint)
{
    const struct route_rule *r = d->rules.v;

    for (size_t i = 0; i < d->rules.n; i++)
        for (size_t k = 0; k < r[i].endpoints.n; k++)
            if (strcmp(((char *const *)r[i].endpoints.v)[k], endpoint) == 0)
                return true;
    return false;
}

const char *route_with(const struct mng *m, const char *endpoint)
{
    each_route(m, x)
        if (names(&x->def, endpoint))
            return x->def.name;
    return NULL;
}

static int endpoints_there(const struct mng *m, const struct route_def *d, struct err *e)
{
    const struct route_rule *r = d->rules.v;

    for (size_t i = 0; i < d->rules.n; i++)
        for (size_t k = 0; k < r[i].endpoints.n; k++) {
            const char *name = ((char *const *)r[i].endpoints.v)[k];

            if (defined_find(m, DEF_ENDPOINT, name) == NULL)
                return err_set(e, SQ_EINVAL, "route %s: there is no endpoint %s", d->name, name);
        }
    return 0;
}

int route_define(struct mng *m, void *x, const void *def, struct err *e)
{
    const struct route_def *d = def;
    int rc = endpoints_there(m, d, e);

    if (rc < 0 || (x != NULL && defined_equals(DEF_ROUTE, x, d)))
        return rc;
    if (x != NULL)
        rc = defined_change(DEF_ROUTE, x, d, e);
    else if (m->tasks.routes.n >= ROUTES_MAX)
        rc = err_set(e, SQ_ECONFLICT, "route %s: a cluster has at most %d", d->name, ROUTES_MAX);
    else if ((x = defined_new(m, DEF_ROUTE, d)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "route %s: out of memory", d->name);
    if (rc < 0)
        return rc;
    defined_put(m, DEF_ROUTE, x, defined_json(DEF_ROUTE, x));
    task_map_changed(m);
    log_info("event=route_changed route=%s version=%llu", d->name,
             (unsigned long long)defined_version(DEF_ROUTE, x));
    return 0;
}

void route_remove(struct mng *m, void *x)
{
    log_warn("event=route_removed route=%s", ((struct mroute *)x)->def.name);
    defined_del(m, DEF_ROUTE, x);
    defined_free(m, DEF_ROUTE, x);
    task_map_changed(m);
}

int route_load(struct mng *m, const char *key, struct json_t *j, struct err *e)
{
    void *x;

    return defined_load(m, DEF_ROUTE, key, j, &x, e);
}
