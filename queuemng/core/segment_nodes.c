/* segment_nodes.c: nodes register, report, fall silent, are drained and go. */
#include "queuemng/core/segment_nodes.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move.h"
#include "queuemng/chain/move_state.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/records.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "node"

/* ---- the directory of subjects ---- */

static void put(struct mng *m)
{
    json_t *v = json_array();

    each_node(m, n)
        if (n->member)
            json_array_append_new(v, json_integer(n->no));
    out_put_json(m, "directory", json_pack("{s:I,s:o}", "version",
                                           (json_int_t)m->members_version, "members", v));
}

/* Members have registered: else they would be none. */
int directory_load(struct mng *m, json_t *j)
{
    json_int_t version;
    json_t *v, *no;
    size_t i;

    if (json_unpack(j, "{s:I,s:o}", "version", &version, "members", &v) < 0 || version <= 0)
        return SQ_EPROTO;
    m->members_version = (uint64_t)version;
    json_array_foreach(v, i, no) {
        json_int_t n = json_integer_value(no);
        struct mnode *x = n > 0 && n <= MNG_NODE_NO_MAX ? node_at(m, (node_no)n) : NULL;

        if (x == NULL)
            return n > 0 && n <= MNG_NODE_NO_MAX ? SQ_ENOMEM : SQ_EPROTO;
        x->member = x->came = true;
    }
    return 0;
}

static uint32_t count(const struct mng *m)
{
    uint32_t members = 0;

    each_node(m, n)
        members += n->member;
    return members;
}

static void tell(struct mng *m, const struct mnode *to)
{
    struct arena *a = &m->out->box.mem; /* a node may be forgotten before this is sent */
    uint32_t n = count(m);
    struct member_row *v;
    struct msg_members *g;

    if (m->members_version == 0 || to->peer == 0 || to->foreign || !to->came)
        return;
    v = arena_array(a, n, sizeof(*v));
    g = &mng_to(m, to->peer, MSG_MEMBERS)->members;
    g->epoch = m->epoch;
    g->version = m->members_version;
    g->self = to->no;
    g->v = v;
    each_node(m, x)
        if (v != NULL && x->member)
            v[g->n++] = (struct member_row){ x->no, arena_strdup(a, x->name),
                                             arena_strdup(a, x->addr) };
}

static void tell_all(struct mng *m)
{
    each_node(m, n)
        tell(m, n);
}

/* Until a segment of one that is given up is opened elsewhere, it may come back with its tickets. */
static bool is_wanted(const struct mnode *n)
{
    return n->came && !((n->given_up || n->draining) && n->segs.n == 0);
}

bool directory_look(struct mng *m)
{
    bool changed = false;

    each_node(m, n) {
        if (n->member == is_wanted(n) ||
            (!n->member && count(m) >= MSG_MEMBERS_MAX))
            continue;
        n->member = !n->member;
        changed = true;
    }
    if (!changed)
        return false;
    assert(count(m) <= MSG_MEMBERS_MAX);
    m->members_version = u64_max(m->epoch << 24, m->members_version) + 1;
    log_info("event=directory version=%llu members=%u",
             (unsigned long long)m->members_version, count(m));
    put(m);
    tell_all(m);
    return true;
}

/* After its NODE_OK. One that was given up becomes a member again when its report is whole:
 * with the next tick. */
static void directory_registered(struct mng *m, struct mnode *n, bool moved)
{
    n->came = true;
    if (directory_look(m))
        return;
    if (moved)
        tell_all(m); /* a member has another address */
    else
        tell(m, n);
}

/* ---- registration and reports ---- */

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
    if (n->holds_on)
        lanes_look(m); /* people may join there again */
    n->holds = holds;
    n->holds_on = false;
    n->holds_ms = m->now_ms;
    each_node_seg(n, s) {
        s->ahead_sent = UINT64_MAX;
        lane_touch(m, s->lane);
    }
}

/* People join at another node from now on. */
static void node_holds_tick(struct mng *m, struct mnode *n)
{
    if (n->peer == 0 || !n->holds || n->holds_on || m->now_ms - n->holds_ms < MNG_TAIL_AFTER_MS)
        return;
    n->holds_on = true;
    each_node_seg(n, s)
        lane_touch(m, s->lane);
    lanes_look(m);
}

/* People join at another node until there is room again. */
static void node_room(struct mng *m, struct mnode *n, bool no_room)
{
    if (n->no_room == no_room)
        return;
    n->no_room = no_room;
    each_node_seg(n, s)
        lane_touch(m, s->lane);
    lanes_look(m);
}

void on_seg_status(struct mng *m, struct mnode *n, const struct msg_seg_status *g)
{
    if (!g->full && (g->epoch != m->epoch || !n->registered))
        return;
    n->tickets = g->tickets;
    n->max_tickets = g->max_tickets;
    node_holds(m, n, g->holds);
    node_room(m, n, g->no_room);
    for (uint32_t i = 0; i < g->n; i++)
        take_status(m, n, &g->v[i], g->full);
    for (uint32_t i = 0; i < g->n_gone; i++)
        take_gone(m, n, g->gone[i]);
    if (g->full && !g->more && !n->registered)
        node_registered(m, n);
}


/* ---- nodes that were drained and have gone ---- */

bool is_gone(const struct mnode *n)
{
    return n->peer == 0 && n->segs.n == 0 && n->moves == 0;
}

static bool has_key(const struct mnode *n, const uint8_t key[32])
{
    if (memcmp(n->pass_key, key, 32) == 0)
        return true;
    for (uint32_t i = 0; i < n->other_keys.n; i++)
        if (memcmp(n->other_keys.key[i], key, 32) == 0)
            return true;
    return false;
}

static msec_t longest_session_ms(const struct mng *m)
{
    msec_t ms = 0;

    each_queue(m, q)
        ms = ms_max(ms, queue_session_ms(&q->def));
    return ms;
}

msec_t key_needed_ms(const struct mng *m, const struct mnode *n)
{
    msec_t left = n->down_ms + longest_session_ms(m) - m->now_ms;

    each_node(m, x)
        if (x != n && has_key(x, n->pass_key))
            return 0;
    return ms_max(left, 0);
}

msec_t node_forget_in_ms(const struct mng *m, const struct mnode *n)
{
    if (!n->retired)
        return -1;
    return ms_max(ms_max(n->down_ms + m->opts.forget_after_ms - m->now_ms, 0),
                  key_needed_ms(m, n));
}

void node_forget(struct mng *m, struct mnode *n, const char *why)
{
    char key[NAME_MAX_LEN + 8];

    assert(is_gone(n) && m->node[n->no - 1] == n);
    log_info("event=node_forgotten node=%s no=%u why=%s", n->name, n->no, why);
    n->given_up = true; /* to be no member of the directory */
    (void)directory_look(m);
    snprintf(key, sizeof(key), "node/%s", n->name);
    out_del(m, key);
    m->node[n->no - 1] = NULL;
    node_free(n);
    map_nodes_changed(m);
}

/* n may be freed. */
static void node_retire_tick(struct mng *m, struct mnode *n)
{
    bool retired = n->draining && is_gone(n);

    if (retired != n->retired) {
        n->retired = retired;
        map_nodes_changed(m);
    }
    if (node_forget_in_ms(m, n) == 0)
        node_forget(m, n, "drained");
}

/* ---- silent nodes ---- */

void node_lost(struct mng *m, struct mnode *n)
{
    log_error("event=node_lost node=%s silent_ms=%lld segments=%zu", n->name,
              (long long)(m->now_ms - n->down_ms), n->segs.n);
    n->given_up = true;
    each_node_seg(n, s) {
        if (!seg_is_lost(s))
            seg_lost(m, s);
    }
}

static void node_down_tick(struct mng *m, struct mnode *n)
{
    msec_t down = m->now_ms - n->down_ms;

    assert(n->peer == 0 && !n->registered);
    if (n->given_up)
        return;
    if (down >= m->opts.lost_after_ms) {
        node_lost(m, n);
        return;
    }
    each_node_seg(n, s) {
        if (s->state == SEG_OPEN && down >= MNG_TAIL_AFTER_MS)
            lane_touch(m, s->lane);
    }
}

void nodes_tick(struct mng *m)
{
    each_node(m, n) {
        if (n->refused_ms != 0 && m->now_ms - n->refused_ms >= MNG_REFUSED_MS) {
            n->refused_ms = 0;
            lanes_look(m);
        }
        node_holds_tick(m, n);
        if (n->peer == 0)
            node_down_tick(m, n);
        else if (n->draining && n->registered && n->segs.n != 0)
            moves_drain(m, n);
        if (n->draining || n->retired)
            node_retire_tick(m, n);
    }
    (void)directory_look(m);
}

