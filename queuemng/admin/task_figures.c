/* task_figures.c: as task nodes reported last. */
#include "queuemng/admin/task_figures.h"

#include <string.h>

#include "queuemng/admin/dashboard.h"
#include "queuemng/admin/definitions.h"
#include "queuemng/admin/endpoints.h"

#define INT(x) ((json_int_t)(x))

static json_t *figures(const struct part_status_row *st)
{
    struct task_words full = task_full_words((enum task_full)st->full);

    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:s}", "scheduled",
                     INT(st->scheduled), "waiting", INT(st->waiting), "running", INT(st->running),
                     "final", INT(st->final), "dead", INT(st->dead), "queues", INT(st->queues),
                     "oldest_ms", INT(st->oldest_ms), "accepted", INT(st->accepted), "started",
                     INT(st->started), "succeeded", INT(st->succeeded), "retried",
                     INT(st->retried), "died", INT(st->died), "expired", INT(st->expired),
                     "bytes", INT(st->bytes), "schedules", INT(st->schedules),
                     "waiting_units", INT(st->waiting_units), "full",
                     full.word, "full_says", full.says);
}

static void add_hold(json_t *list, struct task_words by, uint64_t tasks)
{
    size_t at = json_array_size(list);

    while (at > 0 && json_integer_value(json_object_get(json_array_get(list, at - 1), "tasks")) <
                         INT(tasks))
        at--;
    if (tasks > 0)
        (void)json_array_insert_new(list, at, json_pack("{s:s,s:s,s:I}", "by", by.word, "says", by.says,
                                                        "tasks", INT(tasks)));
}

/* Lists what keeps those in line from starting, most of them first. Counted over some seconds: together
 * they may have been more than wait now. */
static json_t *holds(const struct mng_pool_view *v)
{
    uint64_t left = v->sum.waiting;
    json_t *list = json_array();

    if (v->def->paused) {
        add_hold(list, (struct task_words){ "pool", "the pause of the pool" }, left);
        return list;
    }
    for (enum task_hold h = 0; h < TASK_NHOLDS; h++) {
        bool rest = h == HOLD_ENDPOINT && v->def->endpoint[0] != '\0'; /* no worker is missing */
        uint64_t n = rest ? left : u64_min(v->sum.held[h], left);

        left -= n;
        add_hold(list, task_hold_words(h), n);
    }
    add_hold(list, (struct task_words){ "workers", "workers" }, mng_lacks_workers(v));
    return list;
}

static void add_part(void *list, const void *view)
{
    const struct mng_part_view *v = view;
    json_t *j = figures(&v->st);

    (void)json_object_update_new(j, json_pack("{s:I,s:I,s:s,s:s,s:b,s:I}", "partition",
                                              INT(v->st.part), "share", INT(v->share), "node",
                                              v->node, "moves_to", v->to, "up", v->up, "epoch",
                                              INT(v->st.part_epoch)));
    (void)json_array_append_new(list, j);
}

struct pools {
    const struct mng_service *s;
    const struct bearer *who;
    json_t *list;
    const char *full; /* pool; NULL: all */
};

/* Rates as of the last point of its history, and for how long tasks wait and none has started; 0 of a
 * pool in which nothing happens. */
static void add_rates(json_t *j, const struct history *h, uint32_t id)
{
    const struct history_queue *q = history_of(h, id);
    float rate[HISTORY_COUNTS] = { 0 };

    if (q != NULL)
        history_rates(h, q, rate);
    for (size_t i = 0; i < HISTORY_COUNTS; i++)
        (void)json_object_set_new(j, pool_columns[HISTORY_LEVELS + i], json_real((double)rate[i]));
    (void)json_object_set_new(j, "stalled_ms",
                              json_integer(q != NULL ? INT(history_still_ms(h, q)) : 0));
}

static void add_pool(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    const struct pools *x = ctx;
    bool full = x->full == NULL || strcmp(x->full, v->def->match) == 0;
    json_t *j, *parts;

    if (!bearer_has_pool(x->who, v->def->match))
        return;
    j = figures(&v->sum);
    parts = full ? json_array() : NULL;
    if (full)
        mng_each_part(x->s->mng, v->def->match, add_part, parts);
    add_rates(j, &x->s->pool_history, v->id);
    if (v->rate_per_s >= 0)
        (void)json_object_update_new(j, json_pack("{s:f,s:s}", "rate_per_s", v->rate_per_s,
                                                  "limited_by", v->limited_by));
    (void)json_object_update_new(
        j, json_pack("{s:s,s:b,s:I,s:b,s:s,s:I,s:I,s:o,s:o*,s:o*}", "pool", v->def->match, "paused",
                     v->def->paused, "warn_waiting", INT(v->warn_waiting), "crowded",
                     mng_is_crowded(v), "endpoint", v->def->endpoint, "version",
                     INT(v->version), "away", INT(v->away), "held", holds(v), "partitions", parts, "def",
                     full && x->full != NULL ? admin_def_json(v->def, pool_def_keys, v->version)
                                             : NULL));
    (void)json_array_append_new(x->list, j);
}

static void add_endpoint(void *ctx, const void *view)
{
    const struct mng_endpoint_view *v = view;
    const struct pools *x = ctx;

    if (!bearer_has_pool(x->who, v->def->name))
        return;
    (void)json_array_append_new(
        x->list, json_pack("{s:s,s:s,s:o,s:o,s:b,s:b,s:I,s:f,s:I,s:I,s:I,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I,s:o,s:o}",
                        "name", v->def->name, "url", v->def->url,
                        "targets", admin_endpoint_targets(x->s->mng, v->def->name),
                        "names", admin_endpoint_names(x->s->mng, v->def->name),
                        "paused", v->def->paused, "tripped", v->tripped, "version", INT(v->version),
                        "rate_per_s", v->def->rate_per_s, "max_concurrent",
                        INT(v->def->max_concurrent), "nodes", INT(v->nodes), "open", INT(v->open),
                        "half_open", INT(v->half_open), "unusable", v->unusable, "in_flight", INT(v->sum.in_flight), "held", INT(v->sum.held),
                        "sent", INT(v->sum.sent), "succeeded",
                        INT(v->sum.succeeded), "failed", INT(v->sum.failed), "ms", INT(v->sum.ms), "adaptive",
                        INT(v->sum.adaptive), "closed", INT(v->readings.closed), "narrowed",
                        INT(v->readings.narrowed), "blind", INT(v->readings.blind), "reading", v->readings.said,
                        "units", INT(v->sum.units), "rates", admin_unit_rates(&v->def->rates, &v->sum, v->meter),
                        "told", admin_told(v->def, v->told)));
}

struct nodes {
    const struct mng_service *s;
    json_t *list;
};

static void add_node(void *ctx, const void *view)
{
    const struct mng_task_node_view *n = view;
    const struct nodes *x = ctx;

    (void)json_array_append_new(x->list, json_pack("{s:s,s:I,s:s,s:s,s:s,s:s,s:b,s:b,s:I,s:I,s:I,s:I,s:o}", "name",
                                                n->name, "no", INT(n->no), "addr", n->addr,
                                                "admin", n->admin, "region", n->region,
                                                "zone", n->zone, "up", n->up, "draining",
                                                n->draining, "silent_ms", INT(n->silent_ms),
                                                "partitions", INT(n->partitions), "moving",
                                                INT(n->moving), "incarnation",
                                                INT(n->incarnation), "load",
                                                admin_load_json(x->s, RPC_TASK, n->name)));
}

json_t *admin_task_figures(const struct admin_call *c, const char *pool)
{
    const struct mng_service *s = c->s;
    struct mng_part_moves n = mng_part_moves(s->mng);
    struct pools x = { s, c->who, json_array(), pool }, endpoints = { s, c->who, json_array(), NULL };
    json_t *nodes = json_array();
    struct nodes y = { s, nodes };

    mng_each_pool(s->mng, add_pool, &x);
    mng_each_task_node(s->mng, add_node, &y);
    mng_each_endpoint(s->mng, add_endpoint, &endpoints);
    return json_pack("{s:o,s:o,s:o,s:{s:I,s:I,s:I}}", "pools", x.list, "nodes", nodes,
                     "endpoints", endpoints.list, "moves", "running", INT(n.running), "done", INT(n.done), "aborted", INT(n.aborted));
}

void admin_task_queues(struct admin_call *c)
{
    admin_json(c->a, 200, admin_task_figures(c, NULL));
}

/* ---- budgets ------------------------------------------------------------------------------------- */

/* Writes a rate per second, and a part of 1 of rates in units; any: null. */
static json_t *bears_json(struct bears n)
{
    json_t *rate = n.rate != ENDPOINT_ANY ? json_real((double)n.rate / 1000) : json_null();
    json_t *slots = n.slots != ENDPOINT_ANY ? json_integer((json_int_t)n.slots) : json_null();
    json_t *units = n.shared < ENDPOINT_ANY ? json_real((double)n.shared / UNIT_PARTS) : json_null();

    return json_pack("{s:o,s:o,s:o}", "rate_per_s", rate, "active", slots, "units_part", units);
}

struct listing {
    const struct mng *m;
    const struct bearer *who;
    json_t *list;
};

static void add_member(void *ctx, const void *view)
{
    const struct mng_member_view *v = view;
    const struct listing *l = ctx;
    bool is_queue = strcmp(v->kind, "queue") == 0;

    if (!(is_queue ? bearer_has_queue : bearer_has_pool)(l->who, v->name))
        return;
    (void)json_array_append_new(l->list, json_pack("{s:s,s:s,s:I,s:o,s:o,s:o}", "kind", v->kind, "name",
                                                v->name, "weight", (json_int_t)v->weight, "part",
                                                bears_json(v->part), "used", bears_json(v->used),
                                                "held", bears_json(v->held)));
}

static void add_budget(void *ctx, const void *view)
{
    const struct mng_budget_view *v = view;
    struct listing *l = ctx, members = { l->m, l->who, json_array() };

    mng_each_member(l->m, v->def->name, add_member, &members);
    if (json_array_size(members.list) == 0 && !bearer_has_all(l->who)) {
        json_decref(members.list);
        return;
    }
    (void)json_array_append_new(
        l->list, json_pack("{s:s,s:I,s:s,s:o,s:o,s:o,s:o,s:o}", "name", v->def->name, "version",
                           (json_int_t)v->version, "limited_by", v->limited_by, "whole",
                           bears_json(v->whole), "used", bears_json(v->used), "held",
                           bears_json(v->held), "rates", admin_unit_rates(&v->def->rates, &v->sum, v->meter), "members",
                           members.list));
}

void admin_budgets(struct admin_call *c)
{
    struct listing l = { c->s->mng, c->who, json_array() };

    mng_each_budget(l.m, add_budget, &l);
    admin_json(c->a, 200, json_pack("{s:o}", "budgets", l.list));
}
