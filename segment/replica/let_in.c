/* let_in.c: see let_in.h. */
#include "segment/replica/let_in.h"

#include "segment/core/location.h"
#include "segment/line/segq.h"
#include "segment/tickets/poll.h"

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

void let_in_wanted(struct segtab *t, struct peer *p, const struct msg_seen *m)
{
    struct wants *w = &p->listener.wants;
    uint32_t was = w->n;

    for (uint32_t i = 0; i < m->n_want; i++)
        want(t, w, &m->want[i]);
    t->replica.n_wants += w->n - was;
}

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

    for (uint32_t i = w->n_due, said = 0; i-- > 0 && said < SAID_MOST;) {
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
