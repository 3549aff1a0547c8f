/* segtab.c: a node: its beginning, links, steps, and its end.
 *
 *   tick: advance the service clock -> end what is over (claim windows, passes, graces)
 *         -> sweep for time-outs, bounded -> settle tags -> moves -> reports -> routers' replica
 * A tick visits only segments where somebody waits or was released, or that changed. */
#include "segment/node/segtab.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/directory/exchange.h"
#include "segment/directory/members.h"
#include "segment/directory/parked.h"
#include "segment/directory/past.h"
#include "segment/node/orders.h"
#include "segment/node/report.h"
#include "segment/replica/listeners.h"
#include "segment/replica/push.h"
#include "segment/restore/stage.h"
#include "segment/tickets/join.h"
#include "segment/tickets/passes.h"
#include "segment/tickets/timeouts.h"
#include "segment/tickets/turn.h"
#include "segment/transfer/copying.h"
#include "segment/transfer/move.h"

#define LOG_MODULE "segtab"
#define LOOP_MAX   256 /* messages to ourselves handled per call */

/* ---- the beginning and the end ------------------------------------------------------ */

struct segtab *segtab_new(const struct segtab_opts *o)
{
    struct segtab *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    assert(o->make_pass != NULL);
    t->o = *o;
    copy_text(t->addr, sizeof(t->addr), o->addr);
    copy_text(t->admin, sizeof(t->admin), o->admin);
    t->o.retry_ms = o->retry_ms > 0 ? o->retry_ms : 1000;
    t->o.sweep_blocks = o->sweep_blocks > 0 ? o->sweep_blocks : 4096;
    block_pool_init(&t->pool, segtab_max_blocks(o));
    map_init(&t->locations, 0);
    map_init(&t->queues, 0);
    list_init(&t->segs);
    list_init(&t->dirty);
    list_init(&t->active);
    list_init(&t->moves);
    list_init(&t->pasts);
    list_init(&t->replica.names);
    map_init(&t->replica.by_name, 0);
    dirs_init(&t->dir);
    outbox_init(&t->loop[0]);
    outbox_init(&t->loop[1]);
    t->service_ms = SEGTAB_UNIT_MS * 1000;
    return t;
}

void segtab_free(struct segtab *t)
{
    uint64_t key, val;

    if (t == NULL)
        return;
    assert(t->snap == NULL);
    dirs_fini(&t->dir); /* tells nobody of what ends now */
    each_move (t, v)
        segtab_move_free(t, v);
    replica_fini(t);
    each_seg (t, g)
        segtab_seg_free(t, g);
    for (size_t i = 0; (i = map_next(&t->queues, i, &key, &val)) != 0;)
        segtab_queue_free((struct queue *)(uintptr_t)val);
    map_fini(&t->locations);
    map_fini(&t->queues);
    outbox_fini(&t->loop[0]);
    outbox_fini(&t->loop[1]);
    segtab_stage_free(t);
    segtab_past_free(t);
    block_pool_fini(&t->pool);
    free(t->moved);
    free(t->peers);
    free(t->changed);
    free(t);
}

/* ---- links ------------------------------------------------------------------------- */

/* NULL: no memory. The pointer is good until the next one. */
static struct peer *peer_add(struct segtab *t, const struct segtab_in *in)
{
    struct peer *p;

    assert(in->peer != 0 && in->peer != SEGTAB_SELF);
    if (!GROW(t->peers, t->n_peers, t->cap_peers, 16))
        return NULL;
    p = &t->peers[t->n_peers++];
    *p = (struct peer) { .no = in->peer, .role = in->role };
    copy_text(p->name, sizeof(p->name), in->name);
    return p;
}

static void peer_up(struct segtab *t, const struct segtab_in *in, struct outbox *out)
{
    struct peer *p = peer_add(t, in);

    if (p == NULL) {
        log_error("event=no_memory what=peer peer=%" PRIu32, in->peer); /* the peer comes again */
        return;
    }
    if (p->role == RPC_ROUTER) {
        segtab_rest(t);
        t->n_routers++;
        segtab_passes_all(t, p->no, out);
    } else if (p->role == RPC_MANAGER) {
        segtab_register(t, p->no, out);
    } else {
        segtab_moves_peer(t, p, true, out);
        segtab_dir_up(t, p->name);
    }
}

static void peer_down(struct segtab *t, peer_no no, struct outbox *out)
{
    struct peer *p = segtab_peer(t, no), gone;

    if (p == NULL)
        return;
    gone = *p;
    *p = t->peers[--t->n_peers];
    assert(gone.role != RPC_ROUTER || t->n_routers > 0);
    if (gone.role == RPC_ROUTER) {
        t->n_routers--;
        replica_gone(t, &gone.listener);
        parked_gone(&t->dir, no);
    } else if (gone.role == RPC_SEGMENT) {
        segtab_moves_peer(t, &gone, false, out);
        segtab_dir_down(t, gone.no, gone.name);
    }
    if (t->manager != no)
        return;
    t->manager = 0;
    t->word_ms = t->now.now_ms;
}

size_t segtab_wanted(const struct segtab *t, struct node_want *v, size_t cap)
{
    return segtab_dir_wanted(t, v, segtab_moves_wanted(t, v, cap), cap);
}

/* ---- steps --------------------------------------------------------------------------- */

static void settle_dirty(struct segtab *t)
{
    each_dirty (t, g)
        segq_settle(&g->b.q);
}

static void tick(struct segtab *t, struct outbox *out)
{
    replica_spare(t);
    if (!t->hold)
        segtab_lapse(t);
    segtab_turns_tick(t, out);
    settle_dirty(t);
    segtab_dir_tick(t);
    segtab_moves_tick(t, out);
    segtab_past_tick(t);
    segtab_passes_flush(t, out);
    if (t->now.now_ms - t->report_ms >= SEGTAB_REPORT_MS)
        segtab_report_changes(t, out);
}

static void message(struct segtab *t, peer_no from, const struct msg *m,
                    struct outbox *out)
{
    const struct peer *p = segtab_peer(t, from);
    unsigned role = from == SEGTAB_SELF ? RPC_SEGMENT : p != NULL ? p->role : 0;

    switch (msg_may(role, RPC_SEGMENT, m->type) ? m->type : MSG_NONE) {
#define X(name, ...) case MSG_##name:
        MSG_ORDERS(X)
        segtab_order(t, from, m, out);
        break;
        MSG_COPIES(X)
        segtab_copy(t, from, m, out);
        break;
#undef X
    case MSG_DIR:
        segtab_dir_msg(t, from, m, out);
        break;
    case MSG_DIR_ANS:
        segtab_dir_msg(t, from, m, out);
        segtab_moves_heard(t, out); /* a move may wait for it */
        break;
    case MSG_SEEN:
        replica_seen(t, from, &m->seen);
        break;
    case MSG_TURN_ANS:
        segtab_turn_ans(t, &m->turn_ans);
        break;
    case MSG_ERROR:
        log_warn("event=refused peer=%" PRIu32 " about=%s error=\"%s\"", from,
                 msg_name((enum msg_type)m->error.about), sq_strerror(m->error.code));
        break;
    default:
        segtab_error(out, from, SQ_EUNKNOWN, m->type, "not for a segment node");
    }
}

/* Handles the messages of this node to itself (a move within the node), in order. Bounded:
 * the rest waits for the next call. */
static void run_loop(struct segtab *t, struct outbox *out)
{
    for (unsigned n = 0; n < LOOP_MAX && t->loop[t->loop_in].n > 0;) {
        struct outbox *o = &t->loop[t->loop_in];

        t->loop_in ^= 1;
        assert(t->loop[t->loop_in].n == 0); /* not written to while it is handled */
        for (uint32_t i = 0; i < o->n; i++)
            message(t, SEGTAB_SELF, &o->v[i].m, out);
        n += o->n;
        outbox_reset(o);
    }
}

void segtab_step(struct segtab *t, const struct segtab_in *in, struct outbox *out)
{
    if (in->kind == SEGTAB_TICK && t->n_routers > 0)
        t->heard_ms = ms_max(t->heard_ms, in->now.now_ms - in->silent_ms);
    assert(!t->replaying && (in->kind != SEGTAB_MSG || in->msg != NULL));
    segtab_clock(t, in->now);
    switch (in->kind) {
    case SEGTAB_TICK:
        tick(t, out);
        break;
    case SEGTAB_REPORT:
        settle_dirty(t); /* before the report: the next tick would settle it too late */
        segtab_report_changes(t, out);
        break;
    case SEGTAB_UP:
        peer_up(t, in, out);
        break;
    case SEGTAB_DOWN:
        peer_down(t, in->peer, out);
        break;
    case SEGTAB_MSG:
        message(t, in->peer, in->msg, out);
        break;
    case SEGTAB_DIAL_FAIL:
        segtab_moves_no_dial(t, in->name, out);
        break;
    case SEGTAB_ASK: /* every step sends questions at its end */
        segtab_append_due(t, out);
        break;
    }
    run_loop(t, out);
    segtab_dir_flush(t, out);
    if (in->kind == SEGTAB_TICK || t->replica.now)
        replica_push(t, out);
}

bool segtab_asks(const struct segtab *t)
{
    return t->dir.asks || t->dir.due.n > 0;
}

uint32_t segtab_joins_due(const struct segtab *t)
{
    return (uint32_t)t->dir.due.n;
}
