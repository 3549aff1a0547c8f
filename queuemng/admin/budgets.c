/* budgets.c: see the header. Every definition goes through the same table as queuemng.yaml. */
#include "queuemng/admin/budgets.h"

#include "queuemng/admin/definitions.h"
#include "queuemng/core/budgets.h"
#include "queuemng/process/steps.h"

#define UNKNOWN "budget_not_found"

/* Writes a rate per second; any: null. */
static json_t *bears_json(struct bears n)
{
    json_t *rate = n.rate != ENDPOINT_ANY ? json_real((double)n.rate / 1000) : json_null();
    json_t *slots = n.slots != ENDPOINT_ANY ? json_integer((json_int_t)n.slots) : json_null();

    return json_pack("{s:o,s:o}", "rate_per_s", rate, "active", slots);
}

static void add_member(void *list, const void *view)
{
    const struct mng_member_view *v = view;

    (void)json_array_append_new(list, json_pack("{s:s,s:s,s:I,s:o,s:o,s:o}", "kind", v->kind, "name",
                                                v->name, "weight", (json_int_t)v->weight, "part",
                                                bears_json(v->part), "used", bears_json(v->used),
                                                "held", bears_json(v->held)));
}

struct listing {
    const struct mng *m;
    json_t *list;
};

static void add_budget(void *ctx, const void *view)
{
    const struct mng_budget_view *v = view;
    struct listing *l = ctx;
    json_t *members = json_array();

    mng_each_member(l->m, v->def->name, add_member, members);
    (void)json_array_append_new(
        l->list, json_pack("{s:s,s:I,s:s,s:o,s:o,s:o,s:o}", "name", v->def->name, "version",
                           (json_int_t)v->version, "limited_by", v->limited_by, "whole",
                           bears_json(v->whole), "used", bears_json(v->used), "held",
                           bears_json(v->held), "members", members));
}

void admin_budgets(struct admin_call *c)
{
    struct listing l = { c->s->mng, json_array() };

    mng_each_budget(l.m, add_budget, &l);
    admin_json(c->a, 200, json_pack("{s:o}", "budgets", l.list));
}

static void answer_def(struct admin_call *c, int status)
{
    uint64_t version = 0;
    const struct budget_def *d = mng_budget_get(c->s->mng, c->name, &version);

    if (d == NULL)
        admin_problem(c->a, 404, UNKNOWN, "no budget %s", c->name);
    else
        admin_answer_def(c, status, d, budget_def_keys, version);
}

static void put(struct admin_call *c, const struct budget_def *old)
{
    bool patch = c->q->method[1] == 'A';
    struct budget_def d = { 0 };
    struct err e = { 0 };
    int rc = admin_read_def(c, &d, sizeof(d), budget_def_keys, patch ? old : NULL, &e);

    if (rc == 0)
        rc = mng_budget_put(c->s->mng, ev_now(c->s->ev), &d, mng_service_step(c->s), &e);
    cfg_clear(&d, budget_def_keys);
    if (rc < 0) {
        e.code = rc;
        admin_err(c->a, &e, UNKNOWN);
        return;
    }
    answer_def(c, old == NULL ? 201 : 200);
    admin_kept(c);
}

static void delete(struct admin_call *c)
{
    struct err e = { 0 };

    if (mng_budget_delete(c->s->mng, ev_now(c->s->ev), c->name, mng_service_step(c->s), &e) < 0)
        admin_err(c->a, &e, UNKNOWN);
    else
        admin_changed(c, json_pack("{s:s}", "budget", c->name));
}

void admin_budget(struct admin_call *c)
{
    uint64_t version = 0;
    const struct budget_def *old = mng_budget_get(c->s->mng, c->name, &version);
    const char *m = c->q->method;

    if (strcmp(m, "GET") == 0)
        answer_def(c, 200);
    else if (strcmp(m, "PUT") != 0 && strcmp(m, "PATCH") != 0 && strcmp(m, "DELETE") != 0)
        admin_not_allowed(c->a, "GET, HEAD, PUT, PATCH, DELETE");
    else if (!admin_may_change(c, "budget", UNKNOWN, version))
        return;
    else if (m[0] == 'D')
        delete(c);
    else
        put(c, old);
}
