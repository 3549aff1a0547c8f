/* segtab_ticket.c: one ticket to another lane, as the manager orders it, step by step
 * (enum ticket_step; queuemng/core/mng_ticket.c has the whole of it).
 *
 * The new place is there before the old one is given up, so a crash between the two loses
 * nobody: at worst the new place has no owner, and times out. Giving up the old one and
 * writing down where the ticket is now are one record of the journal: there is no moment
 * in which a ticket has two places or none. The record of a moved ticket (SESSION_FORWARD)
 * is kept, copied with moves and written down like those of released ones.
 *
 * Its subject stays here until it is known at the new place, to the directory, too: asked
 * for again and again (TICKET_NAME), whatever is lost or crashes meanwhile. So a join with
 * it always finds a ticket, and always the same place: the old one leads to the new one.
 * The other way round, with the new place first, one that nobody was led to would have it. */
#include "segment/node/segtab_audit.h"

#include <string.h>

#define NAME_AGAIN_MS   250
#define NAMES_MAX       64      /* asked for in a turn */
#define FORWARD_LATE_MS 10000   /* and more than anybody's place outlives his last poll */

msec_t segtab_forward_ms(const struct seg *g)
{
    const struct queue *q = g->queue;
    uint32_t told = 0;

    for (unsigned i = 0; i < q->n_lanes; i++)
        told = (uint32_t)u64_max(told, pace_longest_ms(&q->pace[i]));
    return FORWARD_LATE_MS + (msec_t)told + queue_longest_idle_ms(q) + q->claim_ms +
           q->grace_ms + (msec_t)q->pass_ttl_s * 1000;
}

void segtab_forward(struct seg *g, struct ticket_id id, uint32_t slot, struct ticket_id to,
                    msec_t deadline_ms)
{
    struct session *x;

    segq_drop(&g->b.q, slot, DEAD_LEFT);
    x = sessions_add(&g->b.released, id, SESSION_FORWARD, deadline_ms);
    x->released_at_ms = (int64_t)to.seg;
    x->until_s = (int64_t)to.number + 1;
    x->expires_ms = 0;
    g->left++;
    g->tab->all_named = false;
}

struct ticket_id segtab_forward_to(const struct session *x)
{
    return (struct ticket_id) { (seg_id)x->released_at_ms, (uint32_t)(x->until_s - 1) };
}

/* ---- its subject, at the old place ---------------------------------------------------- */

static void ask_name(struct segtab *t, const struct session *x, const struct subject *u,
                     struct outbox *out)
{
    struct msg_ticket *a = &outbox_add(out, t->manager, MSG_TICKET)->ticket;
    struct ticket_id id = segtab_outside(t, x->id), to = segtab_forward_to(x);
    char *text = arena_alloc(&out->mem, u->len + 1u);

    *a = (struct msg_ticket){ .epoch = t->epoch,
                              .step = TICKET_NAME,
                              .seg = id.seg,
                              .number = id.number,
                              .to = to.seg,
                              .to_number = to.number,
                              .client = u->client,
                              .issued_s = u->issued_s,
                              .subject_hash = u->hash,
                              .subject = "" };
    if (text == NULL) {
        out->failed = true;
        return;
    }
    memcpy(text, u->text, u->len);
    text[u->len] = '\0';
    a->subject = text;
}

static unsigned ask_names(struct segtab *t, struct seg *g, struct outbox *out)
{
    const struct session *x;
    unsigned n = 0;

    for (uint32_t i = 0; n < NAMES_MAX && (x = sessions_next(&g->b.released, &i)) != NULL;) {
        const struct subject *u = x->state == SESSION_FORWARD
                                      ? subjects_by_ticket(&g->b.subjects, x->id)
                                      : NULL;

        if (u == NULL)
            continue;
        ask_name(t, x, u, out);
        n++;
    }
    return n;
}

void segtab_tickets_tick(struct segtab *t, struct outbox *out)
{
    unsigned n = 0;

    if (t->all_named || t->hold || t->manager == 0 ||
        t->now.now_ms - t->named_ms < NAME_AGAIN_MS)
        return;
    t->named_ms = t->now.now_ms;
    list_each (&t->segs, it) {
        struct seg *g = container_of(it, struct seg, node);

        if (g->b.released.n[SESSION_FORWARD] > 0)
            n += seg_is_fenced(g) ? 1 : ask_names(t, g, out);
    }
    t->all_named = n == 0;
}

static void named(struct segtab *t, const struct msg_ticket *m)
{
    struct session *x;
    struct spot s;

    if (t->hold || segtab_find(t, m->seg, m->number, &s) != SPOT_HERE ||
        seg_is_fenced(s.seg))
        return;
    x = sessions_find(&s.seg->b.released, s.id);
    if (x == NULL || x->state != SESSION_FORWARD ||
        subjects_by_ticket(&s.seg->b.subjects, s.id) == NULL)
        return;
    subjects_del(&s.seg->b.subjects, s.id);
    segtab_log_session(t, s.seg, x);
}

/* ---- the old place ----------------------------------------------------------------- */

static void move_away(struct segtab *t, const struct spot *s, struct msg_ticket *a,
                      struct outbox *out)
{
    const struct subject *u = subjects_by_ticket(&s->seg->b.subjects, s->id);
    struct jrec r = { .kind = JREC_FORWARD, .seg = s->seg->b.id };
    struct ticket_id to = { a->to, a->to_number };

    a->state = TICKET_BUSY;
    if (sessions_reserve(&s->seg->b.released, 1) < 0)
        return;
    segtab_audit_moved(t, s->seg, s->id, to);
    segtab_forward(s->seg, s->id, s->slot, to, t->service_ms + segtab_forward_ms(s->seg));
    if (s->seg->out != NULL)
        xfer_out_touch(&s->seg->out->out, s->slot);
    r.forward = (struct jrec_forward) { s->id, to, s->slot };
    segtab_log(t, &r);
    t->n.left++;
    segtab_touch(t, s->seg);
    a->state = TICKET_DONE;
    if (u != NULL)
        ask_name(t, sessions_find(&s->seg->b.released, s->id), u, out);
}

static void look(const struct spot *s, struct msg_ticket *a)
{
    const struct subject *u = subjects_by_ticket(&s->seg->b.subjects, s->id);

    a->state = TICKET_WAITS;
    a->client = u != NULL ? u->client : CLIENT_BROWSER;
}

static void at_source(struct segtab *t, struct msg_ticket *a, struct outbox *out)
{
    const struct session *x;
    struct ticket_id to;
    struct spot s;

    a->state = TICKET_BUSY;
    if (segtab_find(t, a->seg, a->number, &s) != SPOT_HERE || seg_is_fenced(s.seg) ||
        s.seg->b.q.hollow || t->hold)
        return;
    x = sessions_find(&s.seg->b.released, s.id);
    if (s.slot != SEGQ_NONE && segq_is_alive(&s.seg->b.q, s.slot)) {
        if (s.seg->early) /* who is drawn are those who came */
            a->state = TICKET_EARLY;
        else if (a->step == TICKET_FORWARD)
            move_away(t, &s, a, out);
        else
            look(&s, a);
    } else if (x != NULL && x->state == SESSION_FORWARD) {
        a->state = TICKET_AWAY;
        to = segtab_forward_to(x);
        a->to = to.seg;
        a->to_number = to.number;
    } else {
        a->state = x != NULL && x->state != SESSION_OVER ? TICKET_INSIDE : TICKET_GONE;
    }
}

/* ---- the new place ----------------------------------------------------------------- */

static void add(struct segtab *t, struct msg_ticket *a)
{
    struct append_req r = { .seg = a->to, .client = a->client };
    struct append_ans ans;

    a->state = TICKET_BUSY;
    if (t->hold)
        return;
    segtab_append(t, t->now, &r, 1, &ans);
    if (ans.state == APPEND_SEALED) {
        a->state = TICKET_SEALED;
    } else if (ans.state == APPEND_OK) {
        a->state = TICKET_DONE;
        a->to = ans.seg;
        a->to_number = ans.number;
    }
}

static void undo(struct segtab *t, struct msg_ticket *a)
{
    struct drop_req r = { .seg = a->to, .number = a->to_number };
    struct drop_ans ans;

    segtab_drop(t, t->now, &r, 1, &ans);
    a->state = ans.state == DROP_OK ? TICKET_DONE : TICKET_BUSY;
}

/* ---- its subject, at the new place ----------------------------------------------------- */

/* May this ticket get one? Else *state says what to answer. Who has his pass keeps it as it
 * is, and the old place has his subject until he has gone. */
static bool may_be_named(const struct spot *s, uint8_t *state)
{
    const struct session *x = sessions_find(&s->seg->b.released, s->id);

    if (x != NULL && x->state == SESSION_ADMITTED)
        return false;
    if (x != NULL ? x->state == SESSION_OVER || x->state == SESSION_REVOKED
                  : s->slot == SEGQ_NONE || !segq_is_alive(&s->seg->b.q, s->slot)) {
        *state = TICKET_GONE;
        return false;
    }
    return true;
}

static int add_subject(struct segtab *t, const struct spot *s, const struct msg_ticket *m)
{
    struct seg *g = s->seg;
    struct subject x = { .id = s->id,
                         .issued_s = m->issued_s,
                         .client = m->client,
                         .len = (uint8_t)strlen(m->subject), /* SUBJECT_MAX_LEN: codec */
                         .hash = m->subject_hash,
                         .text = (char *)(uintptr_t)m->subject /* only read */ };

    if (subjects_add(&g->b.subjects, &x) < 0)
        return SQ_ENOMEM;
    t->all_named = false; /* this may not be the last place either */
    segtab_log_subject(t, g, subjects_by_ticket(&g->b.subjects, x.id));
    segtab_dir_named(t, x.hash);
    return 0;
}

static void name(struct segtab *t, struct msg_ticket *a)
{
    struct spot s;

    a->state = TICKET_BUSY;
    if (t->hold || segtab_find(t, a->to, a->to_number, &s) != SPOT_HERE ||
        seg_is_fenced(s.seg) || s.seg->b.q.hollow)
        return;
    if (subjects_by_ticket(&s.seg->b.subjects, s.id) == NULL) {
        if (!may_be_named(&s, &a->state) ||
            /* its first place was here: that is forgotten first */
            subjects_has(&s.seg->b.subjects, a->subject_hash) || add_subject(t, &s, a) < 0)
            return;
    }
    if (segtab_dir_knows(t, a->subject_hash))
        a->state = TICKET_DONE;
}

void segtab_ticket(struct segtab *t, peer_no from, const struct msg_ticket *m,
                   struct outbox *out)
{
    struct msg_ticket a = *m;

    if (m->step == TICKET_NAMED) {
        named(t, m);
        return;
    }
    if (m->step == TICKET_ADD)
        add(t, &a);
    else if (m->step == TICKET_UNDO)
        undo(t, &a);
    else if (m->step == TICKET_NAME)
        name(t, &a);
    else
        at_source(t, &a, out);
    a.subject = "";
    outbox_add(out, from, MSG_TICKET)->ticket = a;
}
