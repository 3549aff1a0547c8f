/* endpoints.c: see the header. */
#include "queuemng/admin/endpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "queuemng/admin/answers.h"
#include "queuemng/admin/definitions.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/process/manager.h"

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

/* ---- targets --------------------------------------------------------------------- */

json_t *admin_unit_rates(const struct cfg_list *rates, const struct endpoint_row *sum, const struct meter *meter)
{
    const struct unit_rate_def *r = rates->v;
    json_t *list = json_array();

    for (size_t i = 0; i < rates->n && i < UNIT_RATES_MAX; i++) {
        bool calendar = meter != NULL && r[i].window == WINDOW_CALENDAR;
        struct meter_window w = calendar ? meter[i].window : (struct meter_window){ 0 };

        (void)json_array_append_new(
            list, json_pack("{s:I,s:s,s:I,s:I,s:s,s:s,s:o,s:o}", "units", (json_int_t)r[i].units, "per",
                            unit_rate_per(&r[i]), "burst",
                            (json_int_t)(r[i].burst != 0 ? r[i].burst : r[i].units), "used",
                            (json_int_t)sum->used[i], "window", unit_rate_window(&r[i]), "zone", r[i].zone,
                            "begins_at", admin_moment(w.from_ms), "ends_at", admin_moment(w.to_ms)));
    }
    return list;
}

json_t *admin_told(const struct endpoint_def *d, const struct mng_told_view *told)
{
    const struct endpoint_remaining *r = d->remaining.v;
    json_t *list = json_array();

    for (size_t i = 0; i < d->remaining.n && i < TOLD_MAX; i++)
        if (told[i].ms > 0)
            (void)json_array_append_new(
                list, json_pack("{s:s,s:I,s:I}", "counts", r[i].counts != 0 ? "units" : "requests", "left",
                                (json_int_t)told[i].left, "reset_ms", (json_int_t)told[i].ms));
    return list;
}

struct targets_of {
    const struct endpoint_def *def;
    json_t *list;
};

static void add_target(void *ctx, const void *view)
{
    const struct targets_of *of = ctx;
    json_t *list = of->list;
    const struct mng_target_view *v = view;
    const char *state = v->gone || v->draining ? (v->sum.in_flight > 0 ? "draining" : "drained")
                        : v->unusable[0] != 0  ? "unusable"
                        : v->open > 0          ? "down"
                        : v->half_open > 0     ? "half-open"
                        : v->readings.closed > 0 ? "closed" : "up";

#define N(n) (json_int_t)(n)
    (void)json_array_append_new(
        list, json_pack("{s:s,s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I,s:o,s:o}",
                        "url", v->url, "address", v->address,
                        "state", state, "gone", v->gone, "weight", N(v->weight), "max_concurrent",
                        N(v->max_concurrent), "slots", N(v->slots == ENDPOINT_ANY ? 0 : v->slots), "nodes",
                        N(v->nodes), "open", N(v->open), "half_open", N(v->half_open), "unusable", v->unusable,
                        "in_flight", N(v->sum.in_flight), "held", N(v->sum.held), "sent", N(v->sum.sent),
                        "succeeded", N(v->sum.succeeded), "failed", N(v->sum.failed), "ms", N(v->sum.ms),
                        "adaptive", N(v->sum.adaptive), "affine", N(v->sum.affine), "astray",
                        N(v->sum.astray), "closed", N(v->readings.closed), "narrowed", N(v->readings.narrowed),
                        "blind", N(v->readings.blind), "reading", v->readings.said, "units", N(v->sum.units),
                        "rates", admin_unit_rates(v->rates, &v->sum, v->meter), "told", admin_told(of->def, v->told)));
#undef N
}

json_t *admin_endpoint_targets(const struct mng *m, const char *endpoint)
{
    struct targets_of of = { mng_defined(m, DEF_ENDPOINT, endpoint, NULL), json_array() };

    mng_each_target(m, endpoint, add_target, &of);
    return of.list;
}

static void add_name(void *list, const void *view)
{
    const struct mng_name_view *v = view;

    (void)json_array_append_new(
        list, json_pack("{s:s,s:i,s:i,s:i,s:I,s:I,s:s,s:I}", "url", v->url, "addresses", (int)v->addresses, "targets",
                        (int)v->targets, "left_out", (int)v->left_out, "heard_ms", (json_int_t)v->heard_ms, "next_ms",
                        (json_int_t)v->next_ms, "failing", v->why, "failing_ms", (json_int_t)v->failing_ms));
}

json_t *admin_endpoint_names(const struct mng *m, const char *endpoint)
{
    json_t *list = json_array();

    mng_each_name(m, endpoint, add_name, list);
    return list;
}

static int set_draining(struct endpoint_def *d, const char *url, bool on, struct err *e)
{
    struct endpoint_target *v = d->targets.v;
    struct near near = near_to(url);

    if (d->targets.n == 0)
        return err_set(e, SQ_EINVAL, "endpoint %s has a url, and no targets: pause it instead", d->name);
    for (size_t i = 0; i < d->targets.n; i++) {
        if (strcmp(v[i].url, url) == 0) {
            v[i].draining = on;
            return 0;
        }
        near_try(&near, v[i].url);
    }
    if (near.name != NULL)
        return err_set(e, SQ_EINVAL, "?url=: endpoint %s has no target of this url; did you mean %s?", d->name,
                       near.name);
    return err_set(e, SQ_EINVAL, "?url=: endpoint %s has no target of this url", d->name);
}

static void drain(struct admin_call *c, const struct endpoint_def *old, bool on)
{
    char url[ENDPOINT_URL_MAX + 1] = "";
    struct endpoint_def d = { 0 };
    struct err e = { 0 };
    int rc = cfg_copy(&d, sizeof(d), endpoint_def_keys, old);

    (void)admin_query(c->q->query, "url", url, sizeof(url));
    rc = rc < 0 ? err_set(&e, rc, "endpoint %s: %s", c->name, sq_strerror(rc)) : set_draining(&d, url, on, &e);
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

    (void)json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s,s:s,s:I}", "node", v->node, "target",
                                                v->target.url, "address", v->target.address, "outcome", outcome(v), "answer", v->said, "ms",
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

    if (old == NULL)
        admin_answer_def(c, DEF_ENDPOINT, c->name, 404);
    else if (strcmp(verb, "targets") == 0)
        admin_json(c->a, 200, json_pack("{s:s,s:o,s:o}", "endpoint", c->name, "targets",
                                        admin_endpoint_targets(c->s->mng, c->name), "names",
                                        admin_endpoint_names(c->s->mng, c->name)));
    else if (get)
        admin_json(c->a, 200, state_json(c));
    else if (strcmp(verb, "drain") == 0 || strcmp(verb, "undrain") == 0)
        drain(c, old, verb[0] == 'd');
    else if (o != ENDPOINT_NORDERS)
        steer(c, o);
    else
        pause(c, old, on);
}

void admin_endpoint(struct admin_call *c)
{
    if (c->verb[0] != 0)
        order(c, mng_defined(c->s->mng, DEF_ENDPOINT, c->name, NULL), c->verb);
    else
        admin_definition(c, DEF_ENDPOINT, c->name, NULL);
}

/* ---- pinned keys ------------------------------------------------------------------------------- */

/* The queue is the name's: the body may leave it out. */
static int fit_key(struct admin_call *c, const char *name, const void *old, void *def, struct err *e)
{
    size_t n = strcspn(name, ":");
    struct key_pin *d = def;
    char *queue;

    (void)c;
    (void)old;
    if (d->queue != NULL && d->queue[0] != '\0' &&
        (strlen(d->queue) != n || strncmp(d->queue, name, n) != 0))
        return err_set(e, SQ_EINVAL, "queue: differs from the one in the path");
    queue = strndup(name, n);
    free(d->queue);
    d->queue = queue;
    return queue != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

/* A key that is not pinned is held, and its limits stay those of its pool; when it goes on it is not
 * pinned any more. */
static void pause_key(struct admin_call *c, const char *name, const struct key_pin *old, bool on)
{
    struct key_pin d = { .inherit = true, .limit.burst = 1, .weight = 1 };
    struct err e = { 0 };
    int rc = 0;

    if (!on && old != NULL && old->inherit) {
        admin_undefine(c, DEF_PIN, name);
        return;
    }
    if (old != NULL)
        rc = cfg_copy(&d, sizeof(d), key_pin_keys, old);
    else if ((d.key = strdup(c->name)) == NULL)
        rc = SQ_ENOMEM;
    if (rc < 0)
        err_set(&e, rc, "key %s: %s", c->name, sq_strerror(rc));
    else
        rc = fit_key(c, name, old, &d, &e);
    d.paused = on;
    admin_define(c, DEF_PIN, name, &d, rc, &e, 200);
}

static void order_key(struct admin_call *c, const char *name, const char *verb)
{
    const struct key_pin *old = mng_defined(c->s->mng, DEF_PIN, name, NULL);
    bool on = strcmp(verb, "pause") == 0;

    if (!on && old == NULL)
        admin_answer_def(c, DEF_PIN, name, 200);
    else
        pause_key(c, name, old, on);
}

void admin_pin(struct admin_call *c, const struct key_path *k)
{
    static const struct admin_special x = { fit_key, NULL };
    char name[DEF_NAME_MAX + 1];

    snprintf(name, sizeof(name), "%s:%s", k->queue, k->key);
    strcpy(c->name, k->key);
    if (strcmp(c->q->method, "POST") == 0)
        order_key(c, name, k->verb);
    else
        admin_definition(c, DEF_PIN, name, &x);
}
