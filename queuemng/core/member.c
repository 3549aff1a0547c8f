/* member.c: the segment nodes: known by name, up while their link is, and what they
 * report when they (re)appear. A full report is the truth about what exists; the chains
 * are the truth about what should. */
#include "queuemng/core/mng_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "member"

struct mnode *node_by_no(const struct mng *m, node_no no)
{
    return no != 0 && no <= m->n_nodes ? m->node[no - 1] : NULL;
}

struct mnode *node_by_name(const struct mng *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->node[i] != NULL && strcmp(m->node[i]->name, name) == 0)
            return m->node[i];
    return NULL;
}

struct mnode *node_new(struct mng *m, node_no no, const char *name)
{
    struct mnode *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return NULL;
    if (no > m->n_nodes) {
        struct mnode **v = realloc(m->node, no * sizeof(*v));

        if (v == NULL) {
            free(n);
            return NULL;
        }
        memset(v + m->n_nodes, 0, (no - m->n_nodes) * sizeof(*v));
        m->node = v;
        m->n_nodes = no;
    }
    n->no = no;
    n->down_ms = m->now_ms;
    strncpy(n->name, name, NAME_MAX_LEN);
    list_init(&n->segs);
    m->node[no - 1] = n;
    if (no >= m->next_node)
        m->next_node = no + 1;
    m->put_meta = true;
    return n;
}

/* ---- what is sent to a node at the end of a step --------------------------------- */

void node_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead)
{
    if (n->n_ahead == n->cap_ahead) {
        uint32_t cap = n->cap_ahead != 0 ? n->cap_ahead * 2 : 64;
        struct ahead_entry *v = realloc(n->ahead, cap * sizeof(*v));

        if (v == NULL) {
            m->out->box.failed = true;
            return;
        }
        n->ahead = v;
        n->cap_ahead = cap;
    }
    n->ahead[n->n_ahead++] = (struct ahead_entry){ .seg = seg, .ahead = ahead };
}

void node_pace(struct mng *m, struct mnode *n, const struct pace_entry *p)
{
    if (n->n_pace == n->cap_pace) {
        uint32_t cap = n->cap_pace != 0 ? n->cap_pace * 2 : 16;
        struct pace_entry *v = realloc(n->pace, cap * sizeof(*v));

        if (v == NULL) {
            m->out->box.failed = true;
            return;
        }
        n->pace = v;
        n->cap_pace = cap;
    }
    n->pace[n->n_pace++] = *p;
}

void node_kept(struct mnode *n, seg_id seg, uint64_t tick)
{
    if (n->n_kept == n->cap_kept) {
        uint32_t cap = n->cap_kept != 0 ? n->cap_kept * 2 : 16;
        struct kept_entry *v = realloc(n->kept, cap * sizeof(*v));

        if (v == NULL)
            return; /* it will say it again */
        n->kept = v;
        n->cap_kept = cap;
    }
    n->kept[n->n_kept++] = (struct kept_entry){ .seg = seg, .tick = tick };
}

void node_flush_ahead(struct mng *m, struct mnode *n)
{
    uint32_t a = 0, p = 0, k = 0;

    while (n->registered && (a < n->n_ahead || p < n->n_pace || k < n->n_kept)) {
        struct msg_seg_ahead *g = &mng_to(m, n->peer, MSG_SEG_AHEAD)->seg_ahead;
        uint32_t na = (uint32_t)u64_min(n->n_ahead - a, MSG_STATUS_MAX);
        uint32_t np = (uint32_t)u64_min(n->n_pace - p, MSG_STATUS_MAX);
        uint32_t nk = (uint32_t)u64_min(n->n_kept - k, MSG_STATUS_MAX);

        g->epoch = m->epoch;
        g->v = arena_memdup(&m->out->box.mem, n->ahead + a, na * sizeof(*n->ahead));
        g->pace = arena_memdup(&m->out->box.mem, n->pace + p, np * sizeof(*n->pace));
        g->kept = arena_memdup(&m->out->box.mem, n->kept + k, nk * sizeof(*n->kept));
        g->n_kept = g->kept != NULL ? nk : 0;
        g->n = g->v != NULL ? na : 0;
        g->n_pace = g->pace != NULL ? np : 0;
        a += na;
        p += np;
        k += nk;
    }
    n->n_ahead = n->n_pace = n->n_kept = 0;
}

/* ---- registration and reports ---------------------------------------------------- */

void map_nodes_changed(struct mng *m)
{
    m->nodes_version = ++m->map_version;
}

bool mng_is_stranger(const struct mng *m)
{
    unsigned n_foreign = 0;

    for (uint32_t i = 0; i < m->n_nodes; i++) {
        if (m->node[i] != NULL && m->node[i]->registered)
            return false;
        n_foreign += m->node[i] != NULL && m->node[i]->foreign;
    }
    return n_foreign != 0;
}

void tell_stranger(struct mng *m, peer_no router)
{
    struct msg_error *r = &mng_to(m, router, MSG_ERROR)->error;

    r->code = SQ_ESTALE;
    r->about = MSG_ROUTER_REG;
    r->text = "the segment nodes obey managers of another store";
}

/* Two managers without a common store, or one whose store was lost. Its orders would
 * have the node forget everybody: it gets none, and routers get no map. */
static bool is_foreign(struct mng *m, struct mnode *n, const struct msg_node_reg *g)
{
    n->foreign = g->store != 0 && g->store != m->store;
    if (!n->foreign)
        return false;
    log_error("event=foreign_node node=%s epoch=%llu seen=%llu do=\"its places belong to "
              "managers with another store: end this manager, give it theirs (redis, "
              "data_dir), or delete the node's journal\"",
              n->name, (unsigned long long)m->epoch, (unsigned long long)g->epoch_seen);
    list_each(&m->routers, it) {
        const struct mrouter *r = list_entry(it, struct mrouter, in);

        if (r->registered && mng_is_stranger(m))
            tell_stranger(m, r->peer);
    }
    return true;
}

void on_node_reg(struct mng *m, struct mnode *n, const struct msg_node_reg *g)
{
    bool moved = strcmp(n->addr, g->addr) != 0;
    struct msg_node_ok *ok;

    if (is_foreign(m, n, g))
        return;
    if (g->epoch_seen > m->epoch) {
        m->outranked = u64_max(m->outranked, g->epoch_seen);
        log_error("event=fenced node=%s seen=%llu epoch=%llu "
                  "note=\"another manager commands this node\"",
                  n->name, (unsigned long long)g->epoch_seen, (unsigned long long)m->epoch);
    }
    if (moved || memcmp(n->pass_key, g->pass_key, 32) != 0 ||
        n->other_keys.n != g->other_keys.n ||
        memcmp(n->other_keys.key, g->other_keys.key, g->other_keys.n * 32) != 0)
        map_nodes_changed(m);
    strncpy(n->addr, g->addr, sizeof(n->addr) - 1);
    strncpy(n->admin, g->admin, sizeof(n->admin) - 1);
    memcpy(n->pass_key, g->pass_key, 32);
    n->other_keys = g->other_keys;
    n->max_tickets = g->max_tickets;
    n->max_segments = g->max_segments;
    n->draws = g->draws;
    n->closes = g->closes;
    n->past_ms = 0; /* its clock may have been set since */
    n->registered = false;
    node_put(m, n);
    list_each(&n->segs, it)
        container_of(it, struct mseg, on_node)->seen = false;
    ok = &mng_to(m, n->peer, MSG_NODE_OK)->node_ok;
    ok->epoch = m->epoch;
    ok->no = n->no;
    ok->store = m->store;
    ok->directory = true;
    members_registered(m, n, g->directory, moved);
}

static void order_forget(struct mng *m, struct mnode *n, seg_id id)
{
    struct msg_seg_remove *r = &mng_to(m, n->peer, MSG_SEG_REMOVE)->seg_remove;

    log_warn("event=foreign_segment seg=%llu node=%s", (unsigned long long)id, n->name);
    /* An id that we never gave: what we kept is lost. At least no new ticket gets the name of
     * an old one. */
    if (id >= m->next_seg && id < UINT64_MAX / 2)
        m->next_seg = id + 1;
    r->epoch = m->epoch;
    r->seg = id;
    r->force = true;
}

static void take_status(struct mng *m, struct mnode *n, const struct seg_status *st,
                        bool full)
{
    struct mseg *s = seg_find(m, st->seg);
    bool ours = s != NULL && s->node == n;

    if (ours && s->lost)
        ours = seg_take_back(m, s, st, full);
    if (st->move != 0 && (!ours || s->move == NULL || s->move->id != st->move))
        move_orphan(m, n, st);
    else if (!ours)
        order_forget(m, n, st->seg);
    if (!ours)
        return;
    s->seen = true;
    if (full)
        seg_set_absorbed(m, s, st);
    seg_status(m, s, st);
}

static void seg_removed(struct mng *m, struct mseg *s)
{
    struct mlane *l = s->lane;

    log_info("event=segment_removed seg=%llu queue=%s node=%s", (unsigned long long)s->id,
             l->q->def.name, s->node->name);
    m->count.removed++;
    queue_keep(m, l->q, false);
    queue_mapped(m, l->q);
    lane_touch(m, l);
    seg_unlink(m, s);
}

/* Lanes that had nowhere to go may have now. */
void lanes_look(struct mng *m)
{
    list_each(&m->queues, it) {
        struct mqueue *q = container_of(it, struct mqueue, in_all);

        for (unsigned i = 0; i < q->n_lanes; i++)
            if (lane_is_short(&q->lane[i]))
                lane_touch(m, &q->lane[i]);
    }
}

/* Nothing behind a segment that does not open is shown to routers: elsewhere, then. It
 * does not say which it meant; if it opens one of them yet, that is nobody's and goes. */
void on_open_refused(struct mng *m, struct mnode *n)
{
    n->refused_ms = m->now_ms;
    list_each(&n->segs, it) {
        struct mseg *s = container_of(it, struct mseg, on_node);

        if (!s->confirmed)
            seg_lost(m, s);
    }
}

/* The report is complete: what is not in it is not there. */
static void node_registered(struct mng *m, struct mnode *n)
{
    n->registered = true;
    n->gave_up = false;
    list_each(&n->segs, it) {
        struct mseg *s = container_of(it, struct mseg, on_node);

        if (s->lost)
            continue;
        if (!s->seen && s->want_remove) {
            seg_removed(m, s); /* the link broke before it could say so */
            continue;
        }
        s->missing = !s->seen && s->confirmed;
        if (!s->seen && alias_of(s->lane, s->id) != 0)
            continue; /* merged within the node, whose answer was lost: asked again */
        if (!s->seen && s->confirmed) {
            seg_lost(m, s);
            continue;
        }
        s->ahead_sent = UINT64_MAX;
        s->lane->pace = (struct pace){ 0 }; /* the node has not heard it */
        seg_todo(m, s);
        seg_reconcile(m, s);
        lane_touch(m, s->lane);
    }
    pop_node_up(m, n);
    log_info("event=node_registered node=%s segments=%zu addr=%s", n->name, n->segs.n,
             n->addr);
    lanes_look(m);
}

static void take_gone(struct mng *m, struct mnode *n, seg_id id)
{
    struct mseg *s = seg_find(m, id);

    if (s == NULL || s->node != n || s->lost)
        return;
    if (!s->want_remove) {
        s->missing = s->confirmed;
        if (s->confirmed && alias_of(s->lane, id) == 0)
            seg_lost(m, s);
        return;
    }
    seg_removed(m, s);
}

void on_seg_status(struct mng *m, struct mnode *n, const struct msg_seg_status *g)
{
    if (!g->full && (g->epoch != m->epoch || !n->registered))
        return;
    n->tickets = g->tickets;
    n->max_tickets = g->max_tickets;
    for (uint32_t i = 0; i < g->n; i++)
        take_status(m, n, &g->v[i], g->full);
    for (uint32_t i = 0; i < g->n_gone; i++)
        take_gone(m, n, g->gone[i]);
    if (g->full && !g->more && !n->registered)
        node_registered(m, n);
}

/* ---- time ------------------------------------------------------------------------ */

void node_lost(struct mng *m, struct mnode *n)
{
    log_error("event=node_lost node=%s silent_ms=%lld segments=%zu", n->name,
              (long long)(m->now_ms - n->down_ms), n->segs.n);
    n->gave_up = true;
    list_each(&n->segs, it) {
        struct mseg *s = container_of(it, struct mseg, on_node);

        if (!s->lost)
            seg_lost(m, s);
    }
}

static void node_down_tick(struct mng *m, struct mnode *n)
{
    msec_t down = m->now_ms - n->down_ms;

    if (n->gave_up)
        return;
    if (down >= m->opts.lost_after_ms) {
        node_lost(m, n);
        return;
    }
    list_each(&n->segs, it) {
        struct mseg *s = container_of(it, struct mseg, on_node);

        if (s->state == SEG_OPEN && down >= MNG_TAIL_AFTER_MS)
            lane_touch(m, s->lane);
    }
}

void members_tick(struct mng *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct mnode *n = m->node[i];

        if (n == NULL)
            continue;
        if (n->refused_ms != 0 && m->now_ms - n->refused_ms >= MNG_REFUSED_MS) {
            n->refused_ms = 0;
            lanes_look(m);
        }
        if (n->peer == 0)
            node_down_tick(m, n);
        else if (n->draining && n->registered && n->segs.n != 0)
            moves_drain(m, n);
        if (n->draining || n->retired)
            node_retire_tick(m, n);
    }
    (void)members_look(m);
}
