/* endpoints.c: see the header. */
#include "queuemng/admin/endpoints.h"

#include <string.h>

#include "queuemng/admin/definitions.h"
#include "queuemng/process/steps.h"

static void pause(struct admin_call *c, const struct endpoint_def *old, bool on)
{
    struct endpoint_def d = { 0 };
    struct err e = { 0 };
    int rc = cfg_copy(&d, sizeof(d), endpoint_def_keys, old);

    if (rc < 0)
        err_set(&e, rc, "endpoint %s: %s", c->name, sq_strerror(rc));
    d.paused = on;
    admin_define(c, DEF_ENDPOINT, c->name, &d, rc, &e, 200);
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
        admin_answer_def(c, DEF_ENDPOINT, c->name, 404);
    else if (get)
        admin_json(c->a, 200, state_json(c));
    else if (o != ENDPOINT_NORDERS)
        steer(c, o);
    else
        pause(c, old, on);
}

void admin_endpoint(struct admin_call *c, const char *verb)
{
    if (verb[0] != 0)
        order(c, mng_defined(c->s->mng, DEF_ENDPOINT, c->name, NULL), verb);
    else
        admin_definition(c, DEF_ENDPOINT, c->name, NULL);
}
