/* pools.c: see the header. Every definition goes through the same table as queuemng.yaml. */
#include "queuemng/admin/pools.h"

#include <string.h>

#include "queuemng/admin/definitions.h"
#include "queuemng/admin/task_figures.h"
#include "queuemng/process/steps.h"

#define UNKNOWN "pool_not_found"

static void add_def(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;

    (void)json_array_append_new(ctx, admin_def_json(v->def, pool_def_keys, v->version));
}

void admin_pools(struct admin_call *c)
{
    json_t *list = json_array();

    mng_each_pool(c->s->mng, add_def, list);
    admin_json(c->a, 200, json_pack("{s:o}", "pools", list));
}

static void answer_def(struct admin_call *c, int status)
{
    uint64_t version = 0;
    const struct pool_def *d = mng_pool_get(c->s->mng, c->name, &version);

    if (d == NULL)
        admin_problem(c->a, 404, UNKNOWN, "no pool %s", c->name);
    else
        admin_answer_def(c, status, d, pool_def_keys, version);
}

static void put(struct admin_call *c, const struct pool_def *old)
{
    bool patch = strcmp(c->q->method, "PATCH") == 0, is_new = old == NULL;
    struct pool_def d = { 0 };
    struct err e = { 0 };
    int rc = admin_read_def(c, &d, sizeof(d), pool_def_keys, patch ? old : NULL, &e);

    if (rc == 0)
        rc = mng_pool_put(c->s->mng, ev_now(c->s->ev), &d, mng_service_step(c->s), &e);
    cfg_clear(&d, pool_def_keys);
    if (rc < 0) {
        e.code = rc;
        admin_err(c->a, &e, UNKNOWN);
        return;
    }
    answer_def(c, is_new ? 201 : 200);
    admin_kept(c);
}

static void delete(struct admin_call *c)
{
    struct err e = { 0 };

    if (mng_pool_delete(c->s->mng, ev_now(c->s->ev), c->name, admin_is_true(c, "final"),
                        mng_service_step(c->s), &e) < 0)
        admin_err(c->a, &e, UNKNOWN);
    else
        admin_changed(c, json_pack("{s:s}", "pool", c->name));
}

void admin_pool(struct admin_call *c)
{
    uint64_t version = 0;
    const struct pool_def *old = mng_pool_get(c->s->mng, c->name, &version);
    const char *m = c->q->method;

    if (strcmp(m, "GET") == 0)
        answer_def(c, 200);
    else if (strcmp(m, "PUT") != 0 && strcmp(m, "PATCH") != 0 && strcmp(m, "DELETE") != 0)
        admin_not_allowed(c->a, "GET, HEAD, PUT, PATCH, DELETE");
    else if (!admin_may_change(c, "pool", UNKNOWN, version))
        return;
    else if (m[0] == 'D')
        delete(c);
    else
        put(c, old);
}

void admin_task_queues(struct admin_call *c)
{
    admin_json(c->a, 200, admin_task_figures(c->s, NULL));
}
