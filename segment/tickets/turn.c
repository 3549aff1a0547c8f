/* turn.c: a look at each record, a few thousand a tick. */
#include "segment/tickets/turn.h"

#include <assert.h>
#include <string.h>

#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/tickets/waiting.h"

#define LOOKS_MAX 4096  /* records of one segment in a tick */
#define SAYS_MAX  256   /* messages of one */
#define ANSWER_MS 10000 /* a router that has not answered by then is not waited for */

/* ---- a ticket gets a contact, or loses it ------------------------------------------------- */

/* Is there room for so many bytes more in the place of was (NULL: none)? Records of those who were told are small,
 * and as many as are inside. */
static bool has_room(const struct queue *q, const struct contact *was, uint32_t bytes)
{
    uint64_t held = 0, all = bytes;

    each_queue_seg (q, g) {
        held += g->b.contacts.held;
        all += g->b.contacts.bytes;
    }
    return (was != NULL || held < QUEUE_CONTACTS_MAX) && all - (was != NULL ? was->n : 0) <= QUEUE_CONTACT_BYTES;
}

/* Keeps its place as a poll of the most patient client would. */
static void stay(struct segtab *t, struct seg *g, uint32_t slot)
{
    segq_mark(&g->b.q, slot, (uint8_t)(segtab_unit(t, g) + IDLE_HORIZON));
    if (SQ_UNLIKELY(g->out != NULL))
        xfer_out_touch(&g->out->out, slot);
}

/* Is the place one whose turn comes soon? */
static bool is_soon(const struct seg *g, uint32_t slot)
{
    uint64_t soon = g->queue->soon[g->lane], at = soon != 0 ? segtab_position(g, slot) : 0;

    return at != 0 && at <= soon;
}

/* Whoever asks when it comes soon need not be told that. */
static enum contact_state keep(struct segtab *t, const struct location *s, const struct contact_req *r)
{
    struct contacts *all = &s->seg->b.contacts;
    const struct contact *was = contacts_find(all, s->id);
    struct contact x = { .id = s->id,
                         .said = was != NULL ? was->said : 0,
                         .claim_ms = r->claim_ms,
                         .n = r->n_sealed,
                         .sealed = (uint8_t *)(uintptr_t)r->sealed }; /* only read */

    x.said |= is_soon(s->seg, s->slot) ? TURN_SOON : 0;
    if (t->full || !has_room(s->seg->queue, was, r->n_sealed))
        return CONTACT_FULL;
    if (contacts_put(all, &x) < 0)
        return CONTACT_BUSY;
    segtab_log_contact(t, s->seg, JREC_CONTACT, &x);
    stay(t, s->seg, s->slot);
    return CONTACT_OK;
}

static enum contact_state lose(struct segtab *t, const struct location *s)
{
    if (contacts_find(&s->seg->b.contacts, s->id) != NULL) {
        contacts_del(&s->seg->b.contacts, s->id);
        segtab_log_contact(t, s->seg, JREC_CONTACT, &(struct contact){ .id = s->id });
    }
    return CONTACT_OK;
}

static void contact_one(struct segtab *t, const struct contact_req *r, struct contact_ans *a)
{
    struct location s = { 0 };
    enum found k = segtab_find(t, r->seg, r->number, &s);
    const struct session *x;

    memset(a, 0, sizeof(*a));
    if (k == FOUND_NOWHERE) {
        a->state = CONTACT_UNKNOWN;
    } else if (k == FOUND_MOVED) {
        a->state = CONTACT_MOVED;
        a->moved_to = s.moved_to;
    } else if (t->hold || seg_is_fenced(s.seg) || s.seg->b.q.rebuilding) {
        a->state = CONTACT_BUSY;
    } else if (s.slot != SEGQ_NONE && segq_is_alive(&s.seg->b.q, s.slot)) {
        a->state = r->n_sealed > 0 ? keep(t, &s, r) : lose(t, &s);
    } else if ((x = sessions_find(&s.seg->b.released, s.id)) != NULL && x->state != SESSION_OVER &&
               x->state != SESSION_REVOKED) {
        a->state = r->n_sealed > 0 ? CONTACT_INSIDE : lose(t, &s);
    } else {
        a->state = CONTACT_GONE;
        a->reason = x != NULL ? x->reason : (uint8_t)segtab_reason(&s);
    }
}

void segtab_contact(struct segtab *t, struct seg_now now, const struct contact_req *req, uint32_t n,
                    struct contact_ans *ans)
{
    segtab_heard(t, now);
    for (uint32_t i = 0; i < n; i++)
        contact_one(t, &req[i], &ans[i]);
}

/* ---- what is due --------------------------------------------------------------------------- */

/* Let in, and that is stored. Whoever came back too late waits again. */
static const struct session *let_in(const struct seg *g, const struct contact *x)
{
    const struct session *s = x->n > 0 ? sessions_find(&g->b.released, x->id) : NULL;

    return s != NULL && s->state != SESSION_RETURNING && !marks_has(&g->unstored, s->id) ? s : NULL;
}

/* A router that has not been asked last; 0: there is none. */
static peer_no next_router(struct segtab *t)
{
    for (uint32_t i = 0; i < t->n_peers; i++) {
        const struct peer *p = &t->peers[++t->turn_peer % t->n_peers];

        if (p->role == RPC_ROUTER)
            return p->no;
    }
    return 0;
}

static void say(struct segtab *t, struct seg *g, struct contact *x, enum turn_word word,
                const struct session *s, struct outbox *out)
{
    struct ticket_id id = segtab_outside(t, x->id);
    peer_no to = next_router(t);
    struct msg_turn *m;

    if (to == 0)
        return;
    m = &outbox_add(out, to, MSG_TURN)->turn;
    *m = (struct msg_turn){ .seg = id.seg, .number = id.number, .word = (uint8_t)word, .n_sealed = x->n };
    m->sealed = arena_memdup(&out->mem, x->sealed, x->n);
    if (m->sealed == NULL) {
        m->n_sealed = 0; /* no router can read that: said again */
        out->failed = true;
    }
    m->at_ms = s != NULL ? s->released_at_ms : t->now.wall_ms;
    if (s != NULL)
        m->until_ms = s->released_at_ms + seg_claim_ms(g, x->id);
    x->saying = (uint8_t)word;
    x->again_ms = t->now.now_ms + ANSWER_MS;
}

/* True: something was said. */
static bool look(struct segtab *t, struct seg *g, struct contact *x, struct outbox *out)
{
    struct ticket_id id = segtab_outside(t, x->id);
    const struct session *s = let_in(g, x);
    enum turn_word word = s != NULL ? TURN_NOW : TURN_SOON;
    struct location at = { 0 };
    bool due = s != NULL;

    if (s == NULL && segtab_find(t, id.seg, id.number, &at) == FOUND_HERE && at.slot != SEGQ_NONE &&
        segq_is_alive(&g->b.q, at.slot)) {
        stay(t, g, at.slot);
        due = (x->said & TURN_SOON) == 0 && is_soon(g, at.slot);
    }
    if (!due || (x->saying == word && x->again_ms > t->now.now_ms))
        return false;
    say(t, g, x, word, s, out);
    return true;
}

static void look_at_segment(struct segtab *t, struct seg *g, struct outbox *out)
{
    uint32_t looks = portion_of(LOOKS_MAX, t->o.portion), said = 0;
    struct contact *x;

    for (uint32_t i = 0; i < looks && said < SAYS_MAX; i++) {
        x = contacts_next(&g->b.contacts, &g->b.contacts.at);
        if (x == NULL) {
            g->b.contacts.at = 0;
            return;
        }
        said += look(t, g, x, out);
    }
}

void segtab_turns_tick(struct segtab *t, struct outbox *out)
{
    each_active (t, g)
        if (g->b.contacts.n > 0 && !t->hold && !seg_is_fenced(g) && !g->b.q.rebuilding)
            look_at_segment(t, g, out);
}

void segtab_turn_ans(struct segtab *t, const struct msg_turn_ans *m)
{
    struct location s = { 0 };
    struct contact *x;

    if (t->hold || segtab_find(t, m->seg, m->number, &s) != FOUND_HERE || seg_is_fenced(s.seg))
        return; /* said again, perhaps by another node */
    x = contacts_find(&s.seg->b.contacts, s.id);
    if (x == NULL || (x->said & m->word) != 0)
        return;
    if (!m->told) {
        t->n.turns_later++;
        if (x->saying == m->word)
            x->again_ms = t->now.now_ms + m->later_ms;
        return;
    }
    t->n.turns_told++;
    contact_said(&s.seg->b.contacts, x, m->word);
    segtab_log_contact(t, s.seg, JREC_CONTACT_SAID, &(struct contact){ .id = x->id, .said = m->word });
}

uint64_t segtab_contacts(const struct segtab *t, uint64_t *due)
{
    const struct contact *x;
    uint64_t n = 0;

    *due = 0;
    each_seg (t, g) {
        n += g->b.contacts.n;
        for (uint32_t i = 0; (x = contacts_next(&g->b.contacts, &i)) != NULL;)
            *due += let_in(g, x) != NULL;
    }
    return n;
}
