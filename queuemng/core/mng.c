/* mng.c: the manager core's entrances. Each does its part, then mng_end() plans what
 * follows from it: chains first, then moves, then what is to be stored, then what
 * routers and nodes are told. Within a step all stores precede all sends. */
#include "queuemng/core/mng.h"
#include "queuemng/core/mng_int.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "mng"

struct mng *mng_new(const struct mng_opts *o)
{
    struct mng *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return NULL;
    m->opts = *o;
    if (m->opts.tick_ms == 0)
        m->opts.tick_ms = 100;
    if (m->opts.lost_after_ms == 0)
        m->opts.lost_after_ms = 30000;
    if (m->opts.skip_after_ms == 0)
        m->opts.skip_after_ms = 5000;
    if (m->opts.forget_after_ms == 0)
        m->opts.forget_after_ms = 300000;
    if (m->opts.undo_ms == 0)
        m->opts.undo_ms = 600000;
    strncpy(m->issuer, o->issuer != NULL ? o->issuer : "segq", sizeof(m->issuer) - 1);
    m->opts.issuer = m->issuer;
    rng_seed(&m->rng, o->seed);
    m->next_seg = m->next_queue = m->next_node = m->next_move = 1;
    list_init(&m->routers);
    list_init(&m->queues);
    list_init(&m->active);
    list_init(&m->puts);
    list_init(&m->dirty_lanes);
    list_init(&m->hurry);
    list_init(&m->todo);
    list_init(&m->moves);
    list_init(&m->tickets);
    map_init(&m->queue_by_id, 0);
    map_init(&m->seg_by_id, 0);
    map_init(&m->peer_node, 0);
    map_init(&m->peer_router, 0);
    map_init(&m->queue_by_name, rng_u64(&m->rng));
    return m;
}

void node_free(struct mnode *n)
{
    free(n->ahead);
    free(n->pace);
    free(n->kept);
    free(n);
}

void mng_free(struct mng *m)
{
    if (m == NULL)
        return;
    list_each(&m->queues, it) /* segments still point to their moves */
        queue_free(m, container_of(it, struct mqueue, in_all));
    list_each(&m->moves, it)
        free(container_of(it, struct mmove, in));
    tickets_free(m);
    list_each(&m->routers, it)
        free(container_of(it, struct mrouter, in));
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->node[i] != NULL)
            node_free(m->node[i]);
    free(m->node);
    map_fini(&m->queue_by_id);
    map_fini(&m->seg_by_id);
    map_fini(&m->peer_node);
    map_fini(&m->peer_router);
    map_fini(&m->queue_by_name);
    free(m);
}

uint64_t mng_outranked(const struct mng *m)
{
    return m->outranked;
}

void mng_out_init(struct mng_out *o)
{
    memset(o, 0, sizeof(*o));
    outbox_init(&o->box);
}

void mng_out_fini(struct mng_out *o)
{
    outbox_fini(&o->box);
    free(o->act);
    memset(o, 0, sizeof(*o));
}

void mng_out_reset(struct mng_out *o)
{
    outbox_reset(&o->box);
    o->n = 0;
}

struct msg *mng_to(struct mng *m, peer_no p, enum msg_type t)
{
    return outbox_add(&m->out->box, p, t);
}

/* ---- every step ------------------------------------------------------------------ */

void mng_begin(struct mng *m, msec_t now_ms, struct mng_out *out)
{
    m->now_ms = now_ms;
    m->out = out;
}

static struct mng_act *act_add(struct mng_out *o)
{
    if (o->n == o->cap) {
        uint32_t cap = o->cap != 0 ? o->cap * 2 : 64;
        struct mng_act *v = realloc(o->act, cap * sizeof(*v));

        if (v == NULL) {
            o->box.failed = true;
            return NULL;
        }
        o->act = v;
        o->cap = cap;
    }
    memset(&o->act[o->n], 0, sizeof(o->act[0]));
    return &o->act[o->n++];
}

static void keep(struct mng *m, enum mng_act_kind kind, const char *key, const char *val)
{
    struct arena *a = &m->out->box.mem;
    struct mng_act *act = act_add(m->out);

    if (act == NULL)
        return;
    act->kind = kind;
    act->key = arena_strdup(a, key);
    act->val = val != NULL ? arena_strdup(a, val) : NULL;
    if (act->key == NULL || (val != NULL && act->val == NULL)) {
        m->out->n--;
        m->out->box.failed = true;
    }
}

void keep_put(struct mng *m, const char *key, const char *json)
{
    keep(m, MNG_PUT, key, json);
}

void keep_del(struct mng *m, const char *key)
{
    keep(m, MNG_DEL, key, NULL);
}

void mng_end(struct mng *m)
{
    struct list_node *it;
    bool nobody;

    while ((it = list_first(&m->dirty_lanes)) != NULL) {
        struct mlane *l = container_of(it, struct mlane, in_dirty);

        list_remove(&m->dirty_lanes, it);
        l->dirty = false;
        nobody = l->waiting == 0;
        lane_plan(m, l);
        if (nobody && l->waiting != 0 && l->q->active && !list_linked(&l->q->in_hurry))
            list_push_back(&m->hurry, &l->q->in_hurry);
    }
    while ((it = list_first(&m->hurry)) != NULL) { /* the first does not wait for a tick */
        list_remove(&m->hurry, it);
        pops_tick(m, container_of(it, struct mqueue, in_hurry));
    }
    keep_flush(m);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->node[i] != NULL)
            node_flush_ahead(m, m->node[i]);
    maps_flush(m);
    if (m->stats_now)
        stats_flush(m);
    m->stats_now = false;
    for (uint32_t i = 0; i < m->out->box.n; i++) {
        struct mng_act *a = act_add(m->out);

        if (a == NULL)
            break;
        a->kind = MNG_SEND;
        a->item = i;
    }
    if (m->out->box.failed)
        log_error("event=no_memory what=step");
}

/* ---- time ------------------------------------------------------------------------ */

static void reconcile_all(struct mng *m)
{
    list_each(&m->todo, it) {
        struct mseg *s = container_of(it, struct mseg, in_todo);

        if (s->ordered_ms == 0 || m->now_ms - s->ordered_ms >= MNG_AGAIN_MS)
            seg_reconcile(m, s);
    }
}

static void lane_rates(struct mlane *l)
{
    uint64_t joined = l->joined + l->gone_joined;
    double j = joined > l->joined_before ? (double)(joined - l->joined_before) : 0;
    double r = (double)(l->released - l->released_before);

    l->join_per_s = j > l->join_per_s ? j : 0.7 * l->join_per_s + 0.3 * j;
    l->release_per_s = l->release_per_s == 0 ? r : 0.8 * l->release_per_s + 0.2 * r;
    if (l->release_per_s < 0.001)
        l->release_per_s = 0;
    l->joined_before = joined;
    l->released_before = l->released;
}

/* A queue without waiters has no ticks: what it would allow is asked for, so that its page
 * does not show the rate of an hour ago. Told to routers only if it changed. */
static void idle_figures(struct mng *m, struct mqueue *q)
{
    struct release copy;
    double allowed = pops_peek(m, q, &copy);

    if (allowed == q->allowed_per_s && strcmp(copy.limited_by, q->rel.limited_by) == 0)
        return;
    q->allowed_per_s = allowed;
    memcpy(q->rel.limited_by, copy.limited_by, sizeof(q->rel.limited_by));
    q->stats_dirty = true;
}

/* An operator, or the clock, has just changed what it may do: people and operators read the
 * same of it at once, and not a second later. */
void queue_figures_now(struct mng *m, struct mqueue *q)
{
    struct release copy;

    if (!q->active) {
        idle_figures(m, q);
    } else {
        (void)pops_peek(m, q, &copy);
        memcpy(q->rel.limited_by, copy.limited_by, sizeof(q->rel.limited_by));
    }
    q->stats_dirty = m->stats_now = true;
}

static bool any_deaf(const struct mng *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->node[i] != NULL && !m->node[i]->registered && m->node[i]->segs.n != 0)
            return true;
    return false;
}

/* Queues in which nobody waits cost one look at their limits here, and nothing else. */
static void second(struct mng *m)
{
    m->deaf = any_deaf(m);
    deletes_tick(m);
    m->tier_notes = 0;
    list_each(&m->active, it) {
        struct mqueue *q = container_of(it, struct mqueue, in_active);

        for (unsigned i = 0; i < q->n_lanes; i++) {
            lane_eta(m, &q->lane[i]);
            lane_rates(&q->lane[i]);
            lane_pace(m, &q->lane[i]);
            lane_touch(m, &q->lane[i]);
        }
        claims_look(&q->claims);
        q->stats_dirty = true;
    }
    list_each(&m->queues, it) {
        struct mqueue *q = container_of(it, struct mqueue, in_all);

        if (!q->active)
            idle_figures(m, q);
        for (unsigned i = 0; i < q->n_lanes; i++) {
            marks_prune(m, &q->lane[i]);
            if (lane_is_short(&q->lane[i]))
                lane_touch(m, &q->lane[i]);
        }
    }
    stats_flush(m);
}

static void queue_idle(struct mng *m, struct mqueue *q)
{
    for (unsigned i = 0; i < q->n_lanes; i++) {
        struct mlane *l = &q->lane[i];

        if (l->waiting + l->returning + l->ready != 0 || l->pop.busy)
            return;
    }
    for (unsigned i = 0; i < q->n_lanes; i++)
        q->lane[i].join_per_s = q->lane[i].release_per_s = 0;
    list_remove(&m->active, &q->in_active);
    q->active = false;
    q->stats_dirty = true;
}

/* Routers hear of a leap before they see a pass with a stamp of after it. */
static void read_clock(struct mng *m, int64_t wall_ms)
{
    int64_t was_ms = m->stamp_guard.offset_ms;

    m->said_ms = wall_ms;
    m->wall_ms = wall_steady(&m->stamp_guard, m->now_ms, wall_ms);
    if (llabs(m->stamp_guard.offset_ms - was_ms) > 1000)
        m->stats_now = true;
}

void mng_tick(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out)
{
    mng_begin(m, now_ms, out);
    read_clock(m, wall_ms);
    sched_tick(m, now_ms >= m->second_ms);
    members_tick(m);
    moves_tick(m);
    tickets_tick(m);
    reconcile_all(m);
    list_each(&m->active, it)
        pops_tick(m, container_of(it, struct mqueue, in_active));
    if (now_ms >= m->second_ms) {
        m->second_ms = now_ms + 1000;
        second(m);
        list_each(&m->active, it)
            queue_idle(m, container_of(it, struct mqueue, in_active));
    }
    mng_end(m);
}

/* ---- peers ----------------------------------------------------------------------- */

static void router_up(struct mng *m, peer_no p, const char *name, uint64_t incarnation)
{
    struct mrouter *r = calloc(1, sizeof(*r));

    if (r == NULL || map_set_ptr(&m->peer_router, p, r) < 0) {
        log_error("event=no_memory what=router router=%s", name);
        m->out->box.failed = true;
        free(r);
        return;
    }
    r->peer = p;
    r->incarnation = incarnation;
    strncpy(r->name, name, NAME_MAX_LEN);
    list_push_back(&m->routers, &r->in);
    log_info("event=router_up router=%s", name);
}

static void node_up(struct mng *m, peer_no p, const char *name, uint64_t incarnation)
{
    struct mnode *n = node_by_name(m, name);

    if (n == NULL)
        n = node_new(m, m->next_node, name);
    if (n == NULL || map_set(&m->peer_node, p, n->no) < 0) {
        log_error("event=no_memory what=node node=%s", name);
        m->out->box.failed = true;
        return;
    }
    n->foreign = false; /* until it registers */
    if (n->peer != 0)
        map_del(&m->peer_node, n->peer); /* the older link of the two is not heard any more */
    if (n->peer != 0 && n->incarnation != incarnation)
        moves_node_down(m, n); /* it was, though we have not heard of it */
    n->peer = p;
    n->registered = false;
    if (n->incarnation != incarnation)
        log_info("event=node_up node=%s incarnation=%016llx", name,
                 (unsigned long long)incarnation);
    n->incarnation = incarnation;
}

void mng_peer_up(struct mng *m, msec_t now_ms, peer_no p, int role, const char *node,
                 uint64_t incarnation, struct mng_out *out)
{
    mng_begin(m, now_ms, out);
    if (role == RPC_SEGMENT)
        node_up(m, p, node, incarnation);
    else
        router_up(m, p, node, incarnation);
    mng_end(m);
}

void mng_peer_down(struct mng *m, msec_t now_ms, peer_no p, struct mng_out *out)
{
    struct mrouter *r = map_get_ptr(&m->peer_router, p);
    uint64_t no = map_get(&m->peer_node, p);

    mng_begin(m, now_ms, out);
    if (r != NULL) {
        log_info("event=router_down router=%s", r->name);
        map_del(&m->peer_router, p);
        list_remove(&m->routers, &r->in);
        free(r);
    }
    if (no != MAP_NONE) {
        struct mnode *n = node_by_no(m, (node_no)no);

        map_del(&m->peer_node, p);
        n->peer = 0;
        n->registered = n->foreign = false;
        n->down_ms = now_ms;
        log_warn("event=node_down node=%s segments=%zu", n->name, n->segs.n);
        moves_node_down(m, n);
        tickets_peer_down(m, p);
    }
    mng_end(m);
}

static void on_router_reg(struct mng *m, struct mrouter *r, const struct msg_router_reg *g)
{
    strncpy(r->http, g->http != NULL ? g->http : "", sizeof(r->http) - 1);
    strncpy(r->admin, g->admin != NULL ? g->admin : "", sizeof(r->admin) - 1);
    r->registered = true;
    if (mng_is_stranger(m))
        tell_stranger(m, r->peer);
    if (g->map_epoch > m->epoch) /* it takes no map of ours */
        m->outranked = u64_max(m->outranked, g->map_epoch);
    r->sent_version = g->map_epoch == m->epoch ? g->map_version : 0;
    r->stats_all = true;
    m->stats_now = true; /* passes of its first second are judged by our clock */
}

static void node_msg(struct mng *m, struct mnode *n, const struct msg *g)
{
    if (n->foreign && g->type != MSG_NODE_REG)
        return;
    n->heard_ms = m->now_ms;
    switch (g->type) {
    case MSG_NODE_REG:
        on_node_reg(m, n, &g->node_reg);
        break;
#define X(name, number, member, ways)                                                    \
    case MSG_##name:                                                                     \
        on_##member(m, n, &g->member);                                                   \
        break;
        MSG_REPORTS(X)
#undef X
    case MSG_TICKET:
        on_ticket(m, n, &g->ticket);
        break;
    case MSG_ERROR:
        log_warn("event=refused node=%s code=%d about=%s text=%s", n->name, g->error.code,
                 msg_name((enum msg_type)g->error.about),
                 log_q(g->error.text, strnlen(g->error.text, 200)));
        if (g->error.code == SQ_ESTALE)
            m->outranked = u64_max(m->outranked, m->epoch);
        else if (g->error.about == MSG_SEG_OPEN)
            on_open_refused(m, n);
        break;
    default:
        log_warn("event=unexpected node=%s type=%s", n->name, msg_name(g->type));
        break;
    }
}

void mng_msg(struct mng *m, msec_t now_ms, peer_no p, const struct msg *msg,
             struct mng_out *out)
{
    struct mrouter *r = map_get_ptr(&m->peer_router, p);
    uint64_t no = map_get(&m->peer_node, p);

    mng_begin(m, now_ms, out);
    if (no != MAP_NONE)
        node_msg(m, node_by_no(m, (node_no)no), msg);
    else if (r != NULL && msg->type == MSG_ROUTER_REG)
        on_router_reg(m, r, &msg->router_reg);
    else
        log_debug("event=ignored peer=%u type=%s", p, msg_name(msg->type));
    mng_end(m);
}
