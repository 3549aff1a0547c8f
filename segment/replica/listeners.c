/* listeners.c: marks and wants in, who is let in out; the beginning and the end of a listener. */
#include "segment/replica/listeners.h"

#include <assert.h>

#include "common/wire/replica_bytes.h"
#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/line/segq.h"
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

/* Whose release came before its want is due at once. */
static void want(struct segtab *t, struct wants *w, const struct want_row *r)
{
    struct ticket_id id = { r->seg, r->number };
    struct location s;

    if (r->client >= WANT_NO_MORE) {
        wants_less(w, id);
        return;
    }
    if (segtab_find(t, r->seg, r->number, &s) != FOUND_HERE || s.slot == SEGQ_NONE)
        return;
    wants_add(w, id, r->client);
    if (segq_is_alive(&s.seg->b.q, s.slot))
        return;
    wants_due(w, id);
    t->replica.now = true;
}

static void wants_in(struct segtab *t, struct peer *p, const struct msg_seen *m)
{
    struct wants *w = &p->listener.wants;
    uint32_t was = w->n;

    for (uint32_t i = 0; i < m->n_want; i++)
        want(t, w, &m->want[i]);
    t->replica.n_wants += w->n - was;
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
    wants_in(t, p, m);
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

/* ---- who is let in ---------------------------------------------------------------- */

enum said { SAID_NOT_STORED, SAID_WAITS, SAID_ALL }; /* all: or nothing is to be said */

static enum said say(struct segtab *t, const struct want *x, struct msg_let_in *m,
                     struct arena *mem)
{
    struct place_req q = { x->id.seg, x->id.number, x->client };
    struct place_ans a;

    segtab_place_one(t, &q, &a, mem);
    if (a.state == PLACE_BUSY || (a.state == PLACE_WAITING && a.position == 0))
        return SAID_NOT_STORED;
    if (a.state == PLACE_WAITING)
        return SAID_WAITS; /* came back after its release */
    if (a.state == PLACE_ADMITTED)
        m->v[m->n++] = (struct let_in_row) { .seg = q.seg,
                                             .number = q.number,
                                             .pass_len = a.pass_len,
                                             .pass = (const uint8_t *)a.pass,
                                             .released_at_ms = a.released_at_ms,
                                             .pass_expires_s = a.pass_expires_s };
    return SAID_ALL;
}

#define SAID_MOST (8 * MSG_BATCH_MAX) /* rows of a push to a router; the next ones say the others */

void let_in_say(struct segtab *t, struct peer *p, struct outbox *out)
{
    struct wants *w = &p->listener.wants;
    struct msg_let_in m = { 0 };

    for (uint32_t i = w->n_due, said = 0, most = portion_of(SAID_MOST, t->o.portion); i-- > 0 && said < most;) {
        if (m.v == NULL && (m.v = arena_array(&out->mem, MSG_BATCH_MAX, sizeof(*m.v))) == NULL)
            return; /* routers look themselves */
        switch (say(t, &w->v[i], &m, &out->mem)) {
        case SAID_WAITS:
            wants_not_due(w, i);
            continue;
        case SAID_NOT_STORED:
            continue;
        case SAID_ALL:
            break;
        }
        wants_del(w, w->v[i].id);
        t->replica.n_wants--;
        said++;
        if (m.n == MSG_BATCH_MAX) {
            outbox_add(out, p->no, MSG_LET_IN)->let_in = m;
            m = (struct msg_let_in) { 0 };
        }
    }
    if (m.n > 0)
        outbox_add(out, p->no, MSG_LET_IN)->let_in = m;
}
