/* hold.c: the journal cannot write. What the table says now is written down; from here
 * on nothing changes in it that somebody is told of, for a kill would undo it: nobody joins,
 * leaves, times out, is released or moved, and no position falls. Polls are answered.
 *
 *   joins, leaves, sessions   BUSY: the router asks again, and then says 503
 *   time-outs                 the service clock stands still
 *   orders                    answered with the status as it is; the manager gives them again
 *   what is ahead             kept apart until it can be written: it comes only once */
#include "segment/node/hold.h"

#include <assert.h>

#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/node/report.h"

static bool changes_something(enum msg_type t)
{
    switch (t) {
    case MSG_SEG_SEAL:
    case MSG_SEG_NEXT:
    case MSG_SEG_REMOVE:
    case MSG_MOVE_IN:
    case MSG_MOVE_OUT:
    case MSG_MOVE_END:
        return true;
    default: /* the others look themselves: a pop is answered, positions are kept apart */
        return false;
    }
}

static seg_id seg_of(const struct msg *m)
{
    switch (m->type) {
    case MSG_SEG_SEAL:
        return m->seg_seal.seg;
    case MSG_SEG_NEXT:
        return m->seg_next.seg;
    case MSG_SEG_REMOVE:
        return m->seg_remove.seg;
    default:
        return 0;
    }
}

bool segtab_puts_off(struct segtab *t, peer_no from, const struct msg *m,
                     struct outbox *out)
{
    if (!t->hold || !changes_something(m->type))
        return false;
    if (seg_of(m) != 0)
        segtab_report_one(t, seg_of(m), from, out);
    return true;
}

void segtab_set_ahead(struct segtab *t, struct seg *g, uint64_t ahead)
{
    if (t->hold) {
        g->ahead_due = u64_min(g->ahead_due, ahead);
        return;
    }
    if (g->ahead <= ahead)
        return;
    assert(!t->replaying);
    g->ahead = ahead;
    segtab_log_set(t, JREC_AHEAD, g->b.id, ahead);
}

/* The manager hears at once that people here stand still, and that they go on: those behind them
 * stand still as long (PROTOCOL section 5). */
static void say_so(struct segtab *t)
{
    each_active (t, g)
        segtab_touch(t, g);
    t->urgent = true;
}

void segtab_hold(struct segtab *t, bool hold)
{
    if (t->hold != hold)
        say_so(t);
    t->hold = hold;
    if (hold)
        return;
    each_seg (t, g) {
        segtab_set_ahead(t, g, g->ahead_due);
        g->ahead_due = AHEAD_UNKNOWN;
    }
}

void segtab_full(struct segtab *t, bool full)
{
    t->full = full;
}
