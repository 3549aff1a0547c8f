/* cluster.c: GET /v1/admin/cluster and /targets. */
#include "queuemng/admin/cluster.h"

#include <stdio.h>
#include <string.h>

struct view {
    struct mng_service *s;
    json_t *list;      /* being filled (ref) */
    struct map node;   /* node_no -> name */
    size_t queue_i;    /* lanes come in the order of the queues */
};

#define INT(x) ((json_int_t)(x))

static void add(json_t *list, json_t *j)
{
    (void)json_array_append_new(list, j); /* NULL (no memory) is not added */
}

const char *admin_seg_state(int state)
{
    static const char *const name[] = { "?", "open", "sealed", "lost" };

    return state >= 1 && state <= 3 ? name[state] : name[0];
}

json_t *admin_eta(double s)
{
    return s < 0 ? json_null() : json_real((double)(int64_t)(s * 10 + 0.5) / 10);
}

json_t *admin_text(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static void add_node(void *ctx, const void *view)
{
    const struct mng_node_view *n = view;
    struct view *v = ctx;

    (void)!map_set_ptr(&v->node, n->no, (void *)(uintptr_t)n->name);
    add(v->list, json_pack("{s:s,s:I,s:s,s:s,s:b,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:o}", "name",
                           n->name, "no", INT(n->no), "addr", n->addr, "admin", n->admin,
                           "up", n->up, "draining", n->draining, "silent_ms",
                           INT(n->silent_ms), "segments", INT(n->segments), "max_segments",
                           INT(n->max_segments), "tickets", INT(n->tickets), "max_tickets",
                           INT(n->max_tickets), "incarnation", INT(n->incarnation),
                           "retired", n->retired, "forget_in_ms",
                           n->forget_in_ms >= 0 ? json_integer(n->forget_in_ms)
                                                : json_null()));
}

static void add_router(void *ctx, const void *view)
{
    const struct mng_router_view *r = view;
    struct view *v = ctx;

    add(v->list, json_pack("{s:s,s:s,s:s,s:I,s:I}", "name", r->name, "http", r->http, "admin",
                           r->admin, "incarnation", INT(r->incarnation), "map_version",
                           INT(r->map_version)));
}

static void add_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct view *v = ctx;

    add(v->list, json_pack("{s:s,s:I,s:s,s:s,s:I,s:I,s:f,s:s,s:s,s:I,s:I,s:I,s:I,s:f,s:f,s:[]}",
                           "queue",
                           q->def->name, "id",
                           INT(q->id), "state", def_state_names[q->def->state], "mode",
                           def_mode_names[q->def->mode], "max_active",
                           INT(q->def->max_active), "version",
                           INT(q->version), "allowed_per_s", q->allowed_per_s, "limited_by",
                           q->limited_by, "public_state", q->public_state, "inside", INT(q->inside), "inside_flushed",
                           INT(q->inside_flushed), "flushed_until_ms",
                           INT(q->flushed_until_ms), "granted", INT(q->granted), "claim_rate",
                           q->claim_rate, "boost", q->boost, "lanes"));
}

static void add_seg(void *ctx, const void *view)
{
    const struct mng_seg_view *g = view;
    struct view *v = ctx;
    const char *node = map_get_ptr(&v->node, g->node);

    add(v->list,
        json_pack("{s:I,s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "segment",
                  INT(g->id), "node", node != NULL ? node : "?", "state",
                  g->lost      ? "lost"
                  : g->rebuild ? "rebuilding"
                               : admin_seg_state(g->state),
                  "reachable", g->reachable, "capacity",
                  INT(g->capacity), "joined", INT(g->st.joined), "waiting",
                  INT(g->st.waiting), "returning", INT(g->st.returning), "ready",
                  INT(g->st.ready), "active", INT(g->st.active), "ahead", INT(g->ahead),
                  "popped", INT(g->st.popped), "move", INT(g->move)));
}

static json_t *lane_json(const struct mng_lane_view *l, json_t *segments)
{
    return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:o,s:o,s:I,s:I,s:I,s:o}", "lane",
                     l->lane,
                     "waiting", INT(l->waiting), "returning", INT(l->returning), "ready",
                     INT(l->ready), "active", INT(l->active), "joined", INT(l->joined),
                     "released", INT(l->released), "left", INT(l->left), "expired",
                     INT(l->expired), "no_shows", INT(l->no_shows), "rate_per_s",
                     l->rate_per_s, "eta_last_s", admin_eta(l->eta_last_s), "eta_reason",
                     admin_text(l->eta_reason), "rebuilding", INT(l->n_away),
                     "missing", INT(l->missing), "aliases", INT(l->n_aliases), "segments", segments);
}

static void add_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *l = view;
    struct view *v = ctx, segs = *v;
    json_t *q;

    while ((q = json_array_get(v->list, v->queue_i)) != NULL &&
           json_integer_value(json_object_get(q, "id")) != INT(l->queue))
        v->queue_i++;
    segs.list = json_array();
    mng_each_seg(v->s->mng, l->queue, l->lane_no, add_seg, &segs);
    add(json_object_get(q, "lanes"), lane_json(l, segs.list));
}

static void add_deleted(void *ctx, const void *view)
{
    const struct mng_deleted_view *d = view;
    struct view *v = ctx;

    add(v->list, json_pack("{s:s,s:I,s:I,s:I}", "queue", d->name, "restore_until_ms",
                           INT(d->until_ms), "waiting", INT(d->waiting), "inside",
                           INT(d->inside)));
}

static void add_move(void *ctx, const void *view)
{
    const struct mng_move_view *m = view;
    struct view *v = ctx;

    add(v->list, json_pack("{s:I,s:I,s:I,s:s,s:I}", "move", INT(m->id), "from", INT(m->from),
                           "to", INT(m->to), "state", m->state, "tickets", INT(m->tickets)));
}

static void add_metric(void *ctx, const void *view)
{
    const struct mng_metric_view *m = view;
    struct view *v = ctx;

    /* an unusable reading may be NaN, which JSON has no word for */
    add(v->list, json_pack("{s:s,s:b,s:o,s:o,s:s}", "name", m->name, "ok", m->ok, "value",
                           m->ok ? json_real(m->value) : json_null(), "age_ms",
                           m->age_ms >= 0 ? json_integer(m->age_ms) : json_null(), "why", m->why));
}

/* One list of the answer, filled by one of the mng_each functions. */
static void fill(struct view *v, json_t *j, const char *name, void (*each)(struct view *v))
{
    v->list = json_array();
    each(v);
    (void)json_object_set_new(j, name, v->list);
}

static void each_node(struct view *v)
{
    mng_each_node(v->s->mng, add_node, v);
}

static void each_router(struct view *v)
{
    mng_each_router(v->s->mng, add_router, v);
}

static void each_queue(struct view *v)
{
    mng_each_queue(v->s->mng, add_queue, v);
    mng_each_lane(v->s->mng, 0, add_lane, v);
}

static void each_move(struct view *v)
{
    mng_each_move(v->s->mng, add_move, v);
}

static void each_deleted(struct view *v)
{
    mng_each_deleted(v->s->mng, add_deleted, v);
}

static void each_metric(struct view *v)
{
    mng_each_metric(v->s->mng, ev_now(v->s->ev), add_metric, v);
}

void admin_cluster(struct admin_call *c)
{
    struct view v = { .s = c->s };
    struct mng_counts n;
    json_t *j;

    mng_count(c->s->mng, &n);
    map_init(&v.node, 0);
    j = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "manager", c->s->cfg->node, "epoch",
                  INT(n.epoch), "map_version", INT(n.map_version), "released",
                  INT(n.released), "moves_started", INT(n.moves_started), "moves_committed",
                  INT(n.moves_committed), "moves_aborted", INT(n.moves_aborted),
                  "lost_segments", INT(n.lost_segments), "rebuilt_segments",
                  INT(n.rebuilt));
    fill(&v, j, "nodes", each_node);
    fill(&v, j, "routers", each_router);
    fill(&v, j, "queues", each_queue);
    fill(&v, j, "moves", each_move);
    fill(&v, j, "metrics", each_metric);
    fill(&v, j, "deleted", each_deleted);
    map_fini(&v.node);
    admin_json(c->a, 200, j);
}

void admin_cluster_parts(struct admin_call *c, json_t *j)
{
    struct view v = { .s = c->s };

    map_init(&v.node, 0);
    fill(&v, j, "nodes", each_node);
    fill(&v, j, "routers", each_router);
    fill(&v, j, "moves", each_move);
    fill(&v, j, "metrics", each_metric);
    fill(&v, j, "deleted", each_deleted);
    map_fini(&v.node);
}

/* ---- Prometheus HTTP service discovery ------------------------------------------- */

static void target(json_t *list, const char *addr, const char *role, const char *node)
{
    if (addr != NULL && addr[0] != 0)
        add(list, json_pack("{s:[s],s:{s:s,s:s}}", "targets", addr, "labels", "role", role,
                            "node", node));
}

static void node_target(void *ctx, const void *view)
{
    const struct mng_node_view *n = view;

    if (!n->retired)
        target(ctx, n->admin, "segment", n->name);
}

static void router_target(void *ctx, const void *view)
{
    const struct mng_router_view *r = view;

    target(ctx, r->admin, "router", r->name);
}

void admin_targets(struct admin_call *c)
{
    json_t *list = json_array();

    target(list, admin_addr(c->s->admin), "queuemng", c->s->cfg->node);
    mng_each_router(c->s->mng, router_target, list);
    mng_each_node(c->s->mng, node_target, list);
    admin_json(c->a, 200, list);
}
