/* poll_marks.c: marks in; the beginning and the end of a listener. */
#include "segment/replica/poll_marks.h"

#include <assert.h>

#include "common/wire/replica_bytes.h"
#include "segment/core/clock.h"
#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/replica/let_in.h"
#include "segment/tickets/poll.h"
#include "segment/tickets/timeouts.h"
#include "segment/tickets/waiting.h"

#define SILENT_MS (2 * SEEN_EVERY_MS) /* then a router is not heard, or does not run */

/* The copy of a fenced segment goes on: its people are spared at the end of the move. */
static bool mark(struct segtab *t, uint64_t v, const struct seen_row *r, uint32_t number,
                 uint8_t told)
{
    struct location s;
    uint32_t ms;

    if (find_at(t, v, r->name, number, &s) != FOUND_HERE || seg_is_fenced(s.seg) ||
        s.slot == SEGQ_NONE || !segq_is_alive(&s.seg->b.q, s.slot))
        return false;
    ms = (uint32_t)u64_min(pace_class_ms(told), IDLE_HORIZON * (uint64_t)s.seg->unit_ms);
    segtab_polled(t, &s, r->client, ms);
    if (SQ_UNLIKELY(s.seg->b.subjects.n > 0))
        segtab_forget_key(t, s.seg, s.slot);
    return true;
}

static void row_in(struct segtab *t, const struct seen_row *r)
{
    struct bytes_in in = { r->marks, r->marks + r->n_marks };
    uint64_t v = map_get(&t->locations, r->name);
    uint32_t number = 0;
    uint8_t told;

    while (in.p < in.end && mark_get(&in, &number, &told)) {
        t->n.seen_marks++;
        if (!mark(t, v, r, number, told))
            t->n.seen_late++;
    }
    assert(in.p == in.end); /* the codec has looked */
}

void replica_seen(struct segtab *t, peer_no from, const struct msg_seen *m)
{
    struct peer *p = segtab_peer(t, from);
    struct listener *l = &p->listener;

    assert(p->role == RPC_ROUTER);
    segtab_heard(t, t->now);
    if (l->state == LISTENS_NOT) {
        l->state = LISTENS_NEXT;
        t->replica.n_listeners++;
    }
    for (uint32_t i = 0; i < m->n; i++)
        row_in(t, &m->v[i]);
    let_in_wanted(t, p, m);
    l->echo_ms = m->clock_ms;
    l->heard_ms = t->now.now_ms;
    l->seen = u64_max(l->seen, m->seq);
    l->farewell = (m->flags & SEEN_LAST) != 0;
    l->echo = l->echo || (m->flags & SEEN_ECHO) != 0 || l->farewell;
    t->replica.now = t->replica.now || l->echo || l->state == LISTENS_NEXT;
}

void segtab_pending(struct segtab *t, peer_no router, size_t bytes)
{
    struct peer *p = segtab_peer(t, router);

    if (p != NULL)
        p->listener.pending = bytes;
}

static void spare_all(struct segtab *t, msec_t more_ms)
{
    each_seg (t, g)
        segtab_spare(t, g, more_ms);
}

void replica_spare(struct segtab *t)
{
    bool silent = false;

    for (uint32_t i = 0; i < t->n_peers; i++) {
        const struct listener *l = &t->peers[i].listener;

        silent = silent || (l->state != LISTENS_NOT && !l->farewell &&
                            t->now.now_ms - l->heard_ms > SILENT_MS);
    }
    if (silent)
        spare_all(t, 0);
}

void replica_gone(struct segtab *t, struct listener *l)
{
    t->replica.n_wants -= l->wants.n;
    wants_fini(&l->wants);
    if (l->state == LISTENS_NOT)
        return;
    assert(t->replica.n_listeners > 0);
    t->replica.n_listeners--;
    if (l->farewell)
        return;
    t->n.spared++;
    spare_all(t, REPLICA_KEEP_MS); /* cut off it goes on telling what it heard last */
}
