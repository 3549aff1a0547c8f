/* endpoints.c: see the header. Every definition goes through the same table as queuemng.yaml. */
#include "queuemng/tasking/endpoints.h"

#include <string.h>

#include "queuemng/admin/definitions.h"
#include "queuemng/lead/steps.h"

#define UNKNOWN "endpoint_not_found"

static void add_def(void *list, const void *view)
{
    const struct mng_endpoint_view *v = view;

    (void)json_array_append_new(list, admin_def_json(v->def, endpoint_def_keys, v->version));
}

void admin_endpoints(struct admin_call *c)
{
    json_t *list = json_array();

    mng_each_endpoint(c->s->mng, add_def, list);
    admin_json(c->a, 200, json_pack("{s:o}", "endpoints", list));
}

static void answer_def(struct admin_call *c, int status)
{
    uint64_t version = 0;
    const struct endpoint_def *d = mng_endpoint_get(c->s->mng, c->name, &version);

    if (d == NULL)
        admin_problem(c->a, 404, UNKNOWN, "no endpoint %s", c->name);
    else
        admin_answer_def(c, status, d, endpoint_def_keys, version);
}

static int define(struct admin_call *c, const struct endpoint_def *d, struct err *e)
{
    return mng_endpoint_put(c->s->mng, ev_now(c->s->ev), d, true, mng_service_step(c->s), e);
}

/* Takes d's content. */
static void changed(struct admin_call *c, struct endpoint_def *d, int rc, struct err *e, int status)
{
    if (rc == 0)
        rc = define(c, d, e);
    cfg_clear(d, endpoint_def_keys);
    if (rc < 0) {
        e->code = rc;
        admin_err(c->a, e, UNKNOWN);
        return;
    }
    answer_def(c, status);
    admin_kept(c);
}

static void put(struct admin_call *c, const struct endpoint_def *old)
{
    bool patch = strcmp(c->q->method, "PATCH") == 0;
    struct endpoint_def d = { 0 };
    struct err e = { 0 };
    int rc = admin_read_def(c, &d, sizeof(d), endpoint_def_keys, patch ? old : NULL, &e);

    changed(c, &d, rc, &e, old == NULL ? 201 : 200);
}

static void pause(struct admin_call *c, const struct endpoint_def *old, bool on)
{
    struct endpoint_def d = { 0 };
    struct err e = { 0 };
    int rc = cfg_copy(&d, sizeof(d), endpoint_def_keys, old);

    if (rc < 0)
        err_set(&e, rc, "endpoint %s: %s", c->name, sq_strerror(rc));
    d.paused = on;
    changed(c, &d, rc, &e, 200);
}

static void delete(struct admin_call *c)
{
    struct err e = { 0 };

    if (mng_endpoint_delete(c->s->mng, ev_now(c->s->ev), c->name, admin_is_true(c, "final"),
                            mng_service_step(c->s), &e) < 0)
        admin_err(c->a, &e, UNKNOWN);
    else
        admin_changed(c, json_pack("{s:s}", "endpoint", c->name));
}

static void order(struct admin_call *c, const struct endpoint_def *old, const char *verb)
{
    bool on = strcmp(verb, "pause") == 0;

    if (!on && strcmp(verb, "resume") != 0)
        admin_problem(c->a, 404, "not_found", "no such path");
    else if (strcmp(c->q->method, "POST") != 0)
        admin_not_allowed(c->a, "POST");
    else if (old == NULL)
        admin_problem(c->a, 404, UNKNOWN, "no endpoint %s", c->name);
    else
        pause(c, old, on);
}

void admin_endpoint(struct admin_call *c, const char *verb)
{
    uint64_t version = 0;
    const struct endpoint_def *old = mng_endpoint_get(c->s->mng, c->name, &version);
    const char *m = c->q->method;

    if (verb[0] != 0)
        order(c, old, verb);
    else if (strcmp(m, "GET") == 0)
        answer_def(c, 200);
    else if (strcmp(m, "PUT") != 0 && strcmp(m, "PATCH") != 0 && strcmp(m, "DELETE") != 0)
        admin_not_allowed(c->a, "GET, HEAD, PUT, PATCH, DELETE");
    else if (!admin_may_change(c, "endpoint", UNKNOWN, version))
        return;
    else if (m[0] == 'D')
        delete(c);
    else
        put(c, old);
}
