/* cluster.c: GET /v1/admin/cluster, /targets and /manager; POST /v1/admin/nodes/NAME/VERB. */
#include "queuemng/admin/cluster.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/supervisor/program.h"
#include "queuemng/admin/definitions.h"
#include "queuemng/admin/task_figures.h"
#include "queuemng/process/manager.h"

#define INT(x) ((json_int_t)(x))

struct queues {
    const struct admin_call *c;
    json_t *list;
};

static void add_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct queues *x = ctx;
    json_t *j;

    if (!bearer_has_queue(x->c->who, q->def->name))
        return;
    j = admin_queue_json(q);
    (void)json_object_set_new(j, "lanes", admin_lanes_json(x->c->s->mng, q->id, SIZE_MAX));
    (void)json_array_append_new(x->list, j);
}

/* Says what /healthz of the manager says; absent: nothing. */
static void set_warning(json_t *j, struct mng_service *s)
{
    const char *text = prog_refused();
    struct buf why;

    buf_init(&why);
    (void)mng_healthy(s, &why);
    buf_byte(&why, 0);
    if (!why.failed && why.len > 1)
        text = (const char *)why.data;
    if (text[0] != '\0')
        (void)json_object_set_new(j, "warning", json_string(text));
    buf_fini(&why);
}

void admin_cluster(struct admin_call *c)
{
    struct queues x = { .c = c, .list = json_array() };
    struct mng_counts n;
    json_t *j;

    mng_count(c->s->mng, &n);
    mng_each_queue(c->s->mng, add_queue, &x);
    j = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "manager", c->s->cfg->node,
                  "epoch", INT(n.epoch), "map_version", INT(n.map_version), "released",
                  INT(n.released), "moves_started", INT(n.moves_started), "moves_committed",
                  INT(n.moves_committed), "moves_aborted", INT(n.moves_aborted),
                  "lost_segments", INT(n.lost_segments), "rebuilt_segments", INT(n.rebuilt),
                  "queues", x.list);
    admin_set_lists(j, c, "");
    set_warning(j, c->s);
    admin_json(c->a, 200, j);
}

/* ---- Prometheus HTTP service discovery ------------------------------------------- */

/* A label that says nothing is left out: its series are as they were. */
static void put_label(json_t *labels, const char *name, const char *value)
{
    if (value[0] != '\0')
        (void)json_object_set_new(labels, name, json_string(value));
}

static void target(json_t *list, const char *addr, const char *role, const char *node,
                   const char *region, const char *zone)
{
    json_t *labels;

    if (addr == NULL || addr[0] == '\0')
        return;
    labels = json_pack("{s:s,s:s}", "role", role, "node", node);
    put_label(labels, "region", region);
    put_label(labels, "zone", zone);
    (void)json_array_append_new(list, json_pack("{s:[s],s:o}", "targets", addr, "labels", labels));
}

static void node_target(void *ctx, const void *view)
{
    const struct mng_node_view *n = view;

    if (!n->retired)
        target(ctx, n->admin, "segment", n->name, n->region, n->zone);
}

static void task_target(void *ctx, const void *view)
{
    const struct mng_task_node_view *n = view;

    target(ctx, n->admin, "task", n->name, n->region, n->zone);
}

static void router_target(void *ctx, const void *view)
{
    const struct mng_router_view *r = view;

    target(ctx, r->admin, "router", r->name, r->region, r->zone);
}

void admin_targets(struct admin_call *c)
{
    json_t *list = json_array();

    target(list, admin_addr(c->s->admin), "queuemng", c->s->cfg->node, c->s->cfg->region,
           c->s->cfg->zone);
    mng_each_router(c->s->mng, router_target, list);
    mng_each_node(c->s->mng, node_target, list);
    mng_each_task_node(c->s->mng, task_target, list);
    admin_json(c->a, 200, list);
}

/* ---- several managers ------------------------------------------------------------- */

/* Managers are configured alike: the leader's port speaks as this one's does, or its proxy as this one's,
 * which advertise_admin names then. */
static const char *scheme(const struct admin_call *c)
{
    return admin_is_sealed(c->s->admin) || (c->proxied && c->q->https) ? "https://" : "http://";
}

/* Tells the role of this manager; each answers for itself. */
void admin_manager(struct admin_call *c)
{
    const struct mng_service *s = c->s;
    struct mng_lead_view v = { .leads = s->leads, .lease_age_ms = -1, .leader = "",
                               .leader_admin = "" };
    struct mng_counts n;
    char self[80];

    if (s->lead != NULL)
        mng_lead_look(s->lead, &v);
    mng_count(s->mng, &n);
    snprintf(self, sizeof(self), "%s%s", scheme(c), v.leader_admin);
    admin_json(c->a, 200,
               json_pack("{s:s,s:s,s:s,s:s,s:I,s:s,s:s*,s:o,s:o,s:o}", "node", s->cfg->node,
                         "region", s->cfg->region, "zone", s->cfg->zone, "role",
                         s->leads ? "leader" : "standby", "epoch",
                         (json_int_t)(s->lead != NULL ? v.epoch : n.epoch), "store",
                         s->lead != NULL ? "redis" : "file", "redis", v.redis,
                         "store_reachable",
                         json_boolean(s->lead != NULL ? v.reachable : s->store_ok),
                         "lease_age_ms",
                         v.lease_age_ms >= 0 ? json_integer(v.lease_age_ms) : json_null(),
                         "leader",
                         v.leader_admin[0] == 0 ? json_null()
                                                : json_pack("{s:s,s:s}", "node", v.leader,
                                                            "admin", self)));
}

/* To the leader: a question by 307; an order by 409 with the address, so that the operator
 * decides where it is given. */
void admin_elsewhere(struct admin_call *c)
{
    struct mng_lead_view v;
    bool get = strcmp(c->q->method, "GET") == 0;
    char url[80];

    assert(c->s->lead != NULL); /* without others, this one leads */
    mng_lead_look(c->s->lead, &v);
    if (v.leader_admin[0] == 0) {
        admin_problem(c->a, 503, "not_leader", "no manager leads at present");
        return;
    }
    snprintf(url, sizeof(url), "%s%s", scheme(c), v.leader_admin);
    admin_json(c->a, get ? 307 : 409,
               json_pack("{s:s,s:i,s:s,s:s,s:s,s:s}", "title",
                         get ? "Temporary Redirect" : "Conflict", "status", get ? 307 : 409,
                         "code", "not_leader", "detail", "another manager leads", "leader",
                         url, "request_id", c->a->request_id));
    c->a->content_type = "application/problem+json";
    snprintf(c->a->location_buf, sizeof(c->a->location_buf), "%s%s%s%s", url, c->q->raw_path,
             c->q->query[0] != 0 ? "?" : "", c->q->query);
    if (get)
        c->a->location = c->a->location_buf;
}

/* ---- nodes: drain, undrain, forget ------------------------------------------------ */

static void drain(struct admin_call *c, bool on)
{
    struct err e = { 0 };

    if (mng_drain(c->s->mng, ev_now(c->s->ev), c->name, on, mng_service_step(c->s), &e) < 0)
        admin_err(c->a, &e, "not_found");
    else
        admin_changed(c, json_pack("{s:s,s:b}", "node", c->name, "draining", on));
}

static void forget_answer(struct admin_call *c, const struct mng_forget_end *end)
{
    char text[200];

    if (end->forgotten)
        snprintf(text, sizeof(text), "It is forgotten. Should it come back, it is a new node.");
    else
        snprintf(text, sizeof(text), "It is given up: %u of its segments wait for a node with "
                 "room. It is forgotten when they have one.", end->segments);
    admin_json(c->a, end->forgotten ? 200 : 202,
               json_pack("{s:s,s:b,s:i,s:s}", "node", c->name, "forgotten", end->forgotten,
                         "segments", (int)end->segments, "detail", text));
    admin_kept(c);
}

static void forget(struct admin_call *c)
{
    struct mng_forget_end end;
    struct err e = { 0 };

    if (mng_forget(c->s->mng, ev_now(c->s->ev), c->name, admin_is_true(c, "force"), &end,
                   mng_service_step(c->s), &e) == 0)
        forget_answer(c, &end);
    else
        admin_err(c->a, &e, "not_found");
}

void admin_node(struct admin_call *c)
{
    if (strcmp(c->verb, "forget") == 0)
        forget(c);
    else
        drain(c, strcmp(c->verb, "drain") == 0);
}

/* The cluster's objects as JSON. */

static void add(json_t *list, json_t *j)
{
    (void)json_array_append_new(list, j); /* NULL (no memory) is not added */
}

/* ---- queues, lanes, segments ----------------------------------------------------- */

static json_t *shadow_json(const struct mng_queue_view *q)
{
    const struct mng_shadow_view *s = &q->shadow;

    return !q->has_shadow ? json_null()
                          : json_pack("{s:I,s:f,s:I,s:I,s:f,s:f,s:s}", "waiting", INT(s->waiting), "wait_s",
                                      (double)s->wait_ms / 1000, "joined", INT(s->joined), "would_wait",
                                      INT(s->would_wait), "longest_s", (double)s->longest_ms / 1000,
                                      "allowed_per_s", s->allowed_per_s, "limited_by", s->limited_by);
}

/* Without challenges: null. */
static json_t *challenge_json(const struct mng_queue_view *q)
{
    const struct flood *f = q->flood;
    uint32_t mode = queue_challenge_mode(q->def);

    if (mode == CHALLENGE_OFF)
        return json_null();
    return json_pack("{s:s,s:I,s:s,s:I,s:I,s:I}", "mode", def_challenge_names[mode], "level", INT(f->level), "why",
                     flood_whys[f->why], "since_ms", INT(f->since_ms), "joins_per_s", INT(f->per_s),
                     "began_per_s", INT(f->began_per_s));
}

json_t *admin_queue_json(const struct mng_queue_view *q)
{
    json_t *j = json_pack("{s:s,s:I,s:s,s:s,s:I,s:I,s:f,s:s,s:s,s:I,s:I,s:I,s:I,s:f,s:f,s:o,s:o,s:I}", "queue",
                     q->def->name, "id", INT(q->id), "state", def_state_names[q->def->state],
                     "mode", def_mode_names[q->def->mode], "max_active",
                     INT(q->def->max_active), "version", INT(q->version), "allowed_per_s",
                     q->allowed_per_s, "limited_by", q->limited_by, "public_state",
                     q->public_state, "inside", INT(q->inside), "inside_flushed",
                     INT(q->inside_flushed), "flushed_until_ms", INT(q->flushed_until_ms),
                     "granted", INT(q->granted), "claim_rate", q->claim_rate, "boost", q->boost,
                     "shadow", shadow_json(q), "challenge", challenge_json(q), "suspects", INT(q->suspects));

    if (j != NULL && q->push_none)
        admin_queue_warns(j, q->def);
    if (j != NULL && q->opens_ms != 0)
        (void)json_object_set_new(j, "opens_ms", json_integer(q->opens_ms));
    if (j != NULL && q->closed_ms != 0)
        (void)json_object_set_new(j, "closed_ms", json_integer(q->closed_ms));
    return j;
}

/* Rounds to a decimal. */
static json_t *eta_json(double s)
{
    return s < 0 ? json_null() : json_real((double)(int64_t)(s * 10 + 0.5) / 10);
}

json_t *admin_figures_json(const struct mng_lane_view *l)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:o,s:s?,s:I,s:I}", "waiting",
                     INT(l->waiting), "returning", INT(l->returning), "ready", INT(l->ready),
                     "active", INT(l->active), "joined", INT(l->joined), "released",
                     INT(l->released), "left", INT(l->left), "expired", INT(l->expired),
                     "no_shows", INT(l->no_shows), "rate_per_s", l->rate_per_s, "eta_last_s",
                     eta_json(l->eta_last_s), "eta_reason", l->eta_reason, "rebuilding",
                     INT(l->n_away), "missing", INT(l->missing));
}

static const char *seg_state(const struct mng_seg_view *g)
{
    return g->lost ? "lost" : g->rebuild ? "rebuilding" : g->state == SEG_OPEN ? "open" : "sealed";
}

struct lanes {
    const struct mng *m;
    json_t *lanes, *segments; /* refs */
    size_t segments_max;
};

static void add_seg(void *ctx, const void *view)
{
    const struct mng_seg_view *g = view;
    struct lanes *x = ctx;

    if (json_array_size(x->segments) == x->segments_max)
        return;
    add(x->segments, json_pack("{s:I,s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}",
                               "segment", INT(g->id), "node", g->node, "state", seg_state(g),
                               "reachable", g->reachable, "capacity", INT(g->capacity), "joined",
                               INT(g->st.joined), "waiting", INT(g->st.waiting), "returning",
                               INT(g->st.returning), "ready", INT(g->st.ready), "active",
                               INT(g->st.active), "ahead", INT(g->ahead), "popped",
                               INT(g->st.popped), "move", INT(g->move)));
}

static void add_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *l = view;
    struct lanes *x = ctx;
    json_t *j = admin_figures_json(l);

    x->segments = json_array();
    mng_each_seg(x->m, l->queue, l->lane_no, add_seg, x);
    (void)json_object_update_new(j, json_pack("{s:s,s:I,s:I,s:o}", "lane", l->lane, "aliases",
                                              INT(l->n_aliases), "segments_total",
                                              INT(l->n_segs), "segments", x->segments));
    add(x->lanes, j);
}

json_t *admin_lanes_json(const struct mng *m, queue_id q, size_t segments_max)
{
    struct lanes x = { .m = m, .lanes = json_array(), .segments_max = segments_max };

    assert(q != 0); /* 0 would be the lanes of all queues */
    mng_each_lane(m, q, add_lane, &x);
    return x.lanes;
}

/* ---- lists of the cluster -------------------------------------------------------- */

struct lists {
    const struct mng_service *s;
    json_t *nodes, *routers;
};

/* Null: it is not drained. */
static json_t *drain_json(const struct mng_node_view *n)
{
    const struct drain_state *d = &n->drain;

    if (!n->draining)
        return json_null();
    return json_pack("{s:I,s:I,s:s,s:o,s:o}", "segments_left", INT(d->left), "moving", INT(d->moving), "why", d->why,
                     "segment", d->why[0] != 0 ? json_integer((json_int_t)d->seg) : json_null(),
                     "again_in_ms", d->again_ms >= 0 ? json_integer(d->again_ms) : json_null());
}

static void add_node(void *ctx, const void *view)
{
    const struct lists *x = ctx;
    const struct mng_node_view *n = view;

    add(x->nodes, json_pack("{s:s,s:I,s:s,s:s,s:s,s:s,s:b,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:o,s:o,s:o}", "name",
                        n->name, "no", INT(n->no), "addr", n->addr, "admin", n->admin, "region",
                        n->region, "zone", n->zone, "up",
                        n->up, "draining", n->draining, "silent_ms", INT(n->silent_ms),
                        "segments", INT(n->segments), "max_segments", INT(n->max_segments),
                        "tickets", INT(n->tickets), "max_tickets", INT(n->max_tickets),
                        "incarnation", INT(n->incarnation), "retired", n->retired,
                        "forget_in_ms", n->forget_in_ms >= 0 ? json_integer(n->forget_in_ms)
                                                             : json_null(),
                        "drain", drain_json(n),
                        "load", admin_load_json(x->s, RPC_SEGMENT, n->name)));
}

static void add_router(void *ctx, const void *view)
{
    const struct lists *x = ctx;
    const struct mng_router_view *r = view;

    add(x->routers, json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:o}", "name", r->name, "http", r->http,
                              "admin", r->admin, "region", r->region, "zone", r->zone, "incarnation", INT(r->incarnation), "map_version",
                              INT(r->map_version), "load",
                              admin_load_json(x->s, RPC_ROUTER, r->name)));
}

static void add_move(void *list, const void *view)
{
    const struct mng_move_view *m = view;

    add(list, json_pack("{s:I,s:I,s:I,s:s,s:I}", "move", INT(m->id), "from", INT(m->from), "to",
                        INT(m->to), "state", m->state, "tickets", INT(m->tickets)));
}

static void add_metric(void *list, const void *view)
{
    const struct mng_metric_view *m = view;

    /* an unusable reading may be NaN, which JSON has no word for */
    add(list, json_pack("{s:s,s:b,s:o,s:o,s:s}", "name", m->name, "ok", m->ok, "value",
                        m->ok ? json_real(m->value) : json_null(), "age_ms",
                        m->age_ms >= 0 ? json_integer(m->age_ms) : json_null(), "why", m->why));
}

static void add_deleted(void *ctx, const void *view)
{
    const struct mng_deleted_view *d = view;
    const struct queues *x = ctx;

    if (!bearer_has_queue(x->c->who, d->name))
        return;
    add(x->list, json_pack("{s:s,s:I,s:I,s:I}", "queue", d->name, "restore_until_ms",
                        INT(d->until_ms), "waiting", INT(d->waiting), "inside",
                        INT(d->inside)));
}

static json_t *routers_gone(const struct mng_service *s)
{
    const struct load_seen *v[ROUTERS_MISSED_MAX];
    msec_t now = ev_now(s->ev);
    size_t n = loads_routers_missed(&s->loads, now, v);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        add(list, json_pack("{s:s,s:I}", "name", v[i]->name, "silent_ms", INT(now - v[i]->at_ms)));
    return list;
}

void admin_set_lists(json_t *j, const struct admin_call *c, const char *pool)
{
    const struct mng_service *s = c->s;
    const struct mng *m = s->mng;
    struct lists x = { s, json_array(), json_array() };
    json_t *moves = json_array(), *metrics = json_array();
    struct queues deleted = { c, json_array() };

    mng_each_node(m, add_node, &x);
    mng_each_router(m, add_router, &x);
    mng_each_move(m, add_move, moves);
    mng_each_metric(m, ev_now(s->ev), add_metric, metrics);
    mng_each_deleted(m, add_deleted, &deleted);
    (void)json_object_update_new(j, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "nodes", x.nodes, "routers",
                                              x.routers, "routers_gone", routers_gone(s), "moves", moves, "metrics", metrics,
                                              "deleted", deleted.list, "tasks",
                                              admin_task_figures(c, pool)));
}
