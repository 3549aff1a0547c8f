/* step.c: one step of a node.
 *
 *   tick: advance the service clock -> end what is over (claim windows, passes, graces)
 *         -> sweep for time-outs, bounded -> settle tags -> moves -> reports -> routers' replica
 * A tick visits only segments where somebody waits or was released, or that changed. */
#include "segment/node/step.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "segment/core/clock.h"
#include "segment/core/state.h"
#include "segment/directory/ask.h"
#include "segment/directory/members.h"
#include "segment/node/links.h"
#include "segment/node/orders.h"
#include "segment/node/report.h"
#include "segment/replica/push.h"
#include "segment/replica/seen.h"
#include "segment/tickets/passes.h"
#include "segment/tickets/timeouts.h"
#include "segment/transfer/moves.h"
#include "segment/transfer/target.h"

#define LOG_MODULE "segtab"
#define LOOP_MAX   256 /* messages to ourselves handled per call */

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
    settle_dirty(t);
    segtab_dir_tick(t);
    segtab_moves_tick(t, out);
    segtab_passes_flush(t, out);
    if (t->now.now_ms - t->report_ms >= SEGTAB_REPORT_MS)
        segtab_report_changes(t, out);
}

/* A move may wait for what members have heard. */
static void directory(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    segtab_dir_msg(t, from, m, out);
    if (m->type == MSG_DIR_ANS)
        segtab_moves_heard(t, out);
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
    case MSG_DIR_ANS:
        directory(t, from, m, out);
        break;
    case MSG_SEEN:
        replica_seen(t, from, &m->seen);
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
    case SEGTAB_ASK: /* every step does this at its end */
        break;
    }
    run_loop(t, out);
    segtab_dir_flush(t, out);
    if (in->kind == SEGTAB_TICK || t->replica.now)
        replica_push(t, out);
}

bool segtab_asks(const struct segtab *t)
{
    return t->dir.asks;
}
