/* endpoints.c: see the header. Every definition goes through the same table as queuemng.yaml. */
#include "queuemng/admin/endpoints.h"

#include <string.h>

#include "queuemng/admin/definitions.h"
#include "queuemng/process/steps.h"

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

/* ---- trip, reset, probe ---------------------------------------------------------- */

/* Writes what came of a probe, in words; also of a pending one. */
static const char *outcome(const struct mng_probe_view *v)
{
    static const char *const words[PROBE_NSTATES] = {
        [PROBE_NONE] = "not_asked",   [PROBE_ASKED] = "asked",       [PROBE_SENT] = "sent",
        [PROBE_ANSWERED] = "ended",   [PROBE_NO_TASK] = "no_task",   [PROBE_NO_NEED] = "not_down",
        [PROBE_PAUSED] = "paused",    [PROBE_LIMITED] = "limited",   [PROBE_UNUSABLE] = "unusable",
        [PROBE_LOST] = "cancelled",
    };

    if (!v->there && (!v->heard || v->state == PROBE_ASKED || v->state == PROBE_SENT))
        return "away";
    return v->state < PROBE_NSTATES ? words[v->state] : "unknown";
}

static void add_probe(void *list, const void *view)
{
    const struct mng_probe_view *v = view;

    (void)json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:I}", "node", v->node, "outcome",
                                                outcome(v), "answer", v->said, "ms",
                                                (json_int_t)v->ms));
}

static json_t *state_json(const struct admin_call *c)
{
    json_t *probe = json_array();

    mng_each_probe(c->s->mng, c->name, add_probe, probe);
    return json_pack("{s:s,s:b,s:o}", "endpoint", c->name, "tripped",
                     mng_endpoint_tripped(c->s->mng, c->name), "probe", probe);
}

static void steer(struct admin_call *c, enum endpoint_order o)
{
    bool was = mng_endpoint_tripped(c->s->mng, c->name);
    json_t *j;

    (void)mng_endpoint_order(c->s->mng, ev_now(c->s->ev), c->name, o, mng_service_step(c->s));
    j = state_json(c);
    (void)json_object_set_new(j, "was_tripped", json_boolean(was));
    admin_changed(c, j);
}

static enum endpoint_order order_of(const char *verb)
{
    return strcmp(verb, "trip") == 0    ? ENDPOINT_TRIP
           : strcmp(verb, "reset") == 0 ? ENDPOINT_RESET
           : strcmp(verb, "probe") == 0 ? ENDPOINT_PROBE : ENDPOINT_NORDERS;
}

static void order(struct admin_call *c, const struct endpoint_def *old, const char *verb)
{
    enum endpoint_order o = order_of(verb);
    bool on = strcmp(verb, "pause") == 0, get = strcmp(c->q->method, "GET") == 0;

    if (!on && strcmp(verb, "resume") != 0 && o == ENDPOINT_NORDERS)
        admin_problem(c->a, 404, "not_found", "no such order: an endpoint is told to pause, resume, "
                      "trip, reset, probe");
    else if (strcmp(c->q->method, "POST") != 0 && !(get && o == ENDPOINT_PROBE))
        admin_not_allowed(c->a, o == ENDPOINT_PROBE ? "GET, HEAD, POST" : "POST");
    else if (old == NULL)
        admin_problem(c->a, 404, UNKNOWN, "no endpoint %s", c->name);
    else if (get)
        admin_json(c->a, 200, state_json(c));
    else if (o != ENDPOINT_NORDERS)
        steer(c, o);
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
