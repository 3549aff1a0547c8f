/* registration.c: a node registers, and reports its segments. */
#include "queuemng/nodes/registration.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/chain/rebuild.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/nodes/directory.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/records.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "node"

void tell_foreign(struct mng *m, peer_no router)
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
    n->foreign = g->store != 0 && g->store != m->cluster_id;
    if (!n->foreign)
        return false;
    log_error("event=foreign_node node=%s epoch=%llu seen=%llu do=\"its places belong to "
              "managers with another store: end this manager, give it theirs (redis, "
              "data_dir), or delete the node's journal\"",
              n->name, (unsigned long long)m->epoch, (unsigned long long)g->epoch_seen);
    each_router(m, r) {
        if (r->registered && nodes_are_foreign(m))
            tell_foreign(m, r->peer);
    }
    return true;
}

void on_node_reg(struct mng *m, struct mnode *n, const struct msg_node_reg *g)
{
    bool moved = strcmp(n->addr, g->addr) != 0;
    struct msg_node_ok *ok;

    if (is_foreign(m, n, g))
        return;
    note_epoch(m, n->name, g->epoch_seen);
    if (moved || memcmp(n->pass_key, g->pass_key, 32) != 0 ||
        n->other_keys.n != g->other_keys.n ||
        memcmp(n->other_keys.key, g->other_keys.key, g->other_keys.n * 32) != 0)
        map_nodes_changed(m);
    strncpy(n->addr, g->addr, sizeof(n->addr) - 1);
    strncpy(n->admin, g->admin, sizeof(n->admin) - 1);
    where_set(&n->where, g->region, g->zone);
    memcpy(n->pass_key, g->pass_key, 32);
    n->other_keys = g->other_keys;
    n->max_tickets = g->max_tickets;
    n->max_segments = g->max_segments;
    n->past_opening_ms = 0; /* the clock may have been set since */
    n->registered = false;
    node_put(m, n);
    each_node_seg(n, s)
        s->seen = false;
    ok = &mng_to(m, n->peer, MSG_NODE_OK)->node_ok;
    ok->epoch = m->epoch;
    ok->no = n->no;
    ok->store = m->cluster_id;
    directory_registered(m, n, moved);
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

/* The source of a move that was committed, and whose target is lost by now: its tickets are of
 * then. Its node opens it anew, and until then does not have it. */
static bool is_left_over(const struct mseg *s, const struct seg_status *st)
{
    return st->move != 0 && st->move < s->moves_from;
}

static void take_status(struct mng *m, struct mnode *n, const struct seg_status *st,
                        bool full)
{
    struct mseg *s = seg_find(m, st->seg);
    bool ours = s != NULL && s->node == n;

    if (ours && is_left_over(s, st))
        return;
    if (ours && seg_is_lost(s))
        ours = seg_take_back(m, s, st, full);
    if (st->move != 0 && (!ours || s->move == NULL || s->move->id != st->move))
        move_unknown(m, n, st);
    else if (!ours)
        order_forget(m, n, st->seg);
    if (!ours)
        return;
    s->seen = true;
    if (full && !n->registered)
        seg_credit_void(s);
    if (full)
        seg_set_absorbed(m, s, st);
    seg_status(m, s, st);
}

static void seg_removed(struct mng *m, struct mseg *s)
{
    struct mlane *l = s->lane;

    assert(s->want_remove && !seg_is_lost(s));
    log_info("event=segment_removed seg=%llu queue=%s node=%s", (unsigned long long)s->id,
             l->q->def.name, s->node->name);
    m->count.removed++;
    queue_chain_changed(m, l->q);
    queue_mapped(m, l->q);
    lane_touch(m, l);
    seg_unlink(m, s);
}

/* Nothing behind a segment that does not open is shown to routers: elsewhere, then. It
 * does not say which it meant; if it opens one of them yet, that is nobody's and goes. */
void on_open_refused(struct mng *m, struct mnode *n)
{
    n->refused_ms = m->now_ms;
    each_node_seg(n, s) {
        if (!seg_is_announced(s))
            seg_lost(m, s);
    }
}

/* The report is complete: what is not in it is not there. */
static void node_registered(struct mng *m, struct mnode *n)
{
    assert(!n->registered && n->peer != 0);
    n->registered = true;
    n->given_up = false;
    each_node_seg(n, s) {
        if (seg_is_lost(s))
            continue;
        if (!s->seen && s->want_remove) {
            seg_removed(m, s); /* the link broke before it could say so */
            continue;
        }
        s->absent = !s->seen && seg_is_announced(s);
        if (!s->seen && alias_of(s->lane, s->id) != 0)
            continue; /* merged within the node, whose answer was lost: asked again */
        if (!s->seen && seg_is_announced(s)) {
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

    if (s == NULL || s->node != n || seg_is_lost(s))
        return;
    if (!s->want_remove) {
        s->absent = seg_is_announced(s);
        if (seg_is_announced(s) && alias_of(s->lane, id) == 0)
            seg_lost(m, s);
        return;
    }
    seg_removed(m, s);
}

/* A turn that it took back may have had an `ahead` in it: said again. */
static void node_holds(struct mng *m, struct mnode *n, bool holds)
{
    if (n->holds == holds)
        return;
    n->holds = holds;
    each_node_seg(n, s) {
        s->ahead_sent = UINT64_MAX;
        lane_touch(m, s->lane);
    }
}

void on_seg_status(struct mng *m, struct mnode *n, const struct msg_seg_status *g)
{
    if (!g->full && (g->epoch != m->epoch || !n->registered))
        return;
    n->tickets = g->tickets;
    n->max_tickets = g->max_tickets;
    node_holds(m, n, g->holds);
    for (uint32_t i = 0; i < g->n; i++)
        take_status(m, n, &g->v[i], g->full);
    for (uint32_t i = 0; i < g->n_gone; i++)
        take_gone(m, n, g->gone[i]);
    if (g->full && !g->more && !n->registered)
        node_registered(m, n);
}
