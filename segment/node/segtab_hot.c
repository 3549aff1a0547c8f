/* segtab_hot.c: polls, joins and leaves: what a segment does a million times a second.
 *
 * A token's (segment, number) is a slot by arithmetic: its own segment's number, or, if
 * that segment was absorbed, one lookup in a relocation table. */
#include "segment/node/segtab_audit.h"

#include <string.h>

#define LOOK_AHEAD 64u /* tickets that are looked up before they are dealt with */

/* v: what `homes` has for seg. */
static inline enum spot_kind find_at(const struct segtab *t, uint64_t v, seg_id seg,
                                     uint32_t number, struct spot *s)
{
    const struct reloc *r = (const struct reloc *)(uintptr_t)(v & ~3ull);

    if (v == MAP_NONE)
        return SPOT_UNKNOWN;
    s->id = (struct ticket_id) { seg, number };
    if (SQ_LIKELY((v & 3) == HOME_SEG)) {
        s->seg = (struct seg *)(uintptr_t)v;
        if (SQ_UNLIKELY(s->seg->draw != NULL))
            s->id.number = number = draw_place(s->seg->draw, number);
        s->slot = number < s->seg->b.joined ? number : SEGQ_NONE;
        s->reason = number >= s->seg->b.joined ? GONE_LOST : GONE_EXPIRED;
        return SPOT_HERE;
    }
    if ((v & 3) == HOME_MOVED) {
        s->moved_to = t->moved[v >> 2].to;
        return SPOT_MOVED;
    }
    if (r->host == NULL) /* a commit that is not complete */
        return SPOT_UNKNOWN;
    s->seg = r->host;
    s->slot = number < r->bits ? reloc_slot(r, number) : SEGQ_NONE;
    /* What was before the first that waited had been released, as far as we can know. */
    s->reason = number >= r->bits   ? GONE_LOST
                : number < r->first ? GONE_FINISHED
                                    : GONE_EXPIRED;
    return SPOT_HERE;
}

enum spot_kind segtab_find(const struct segtab *t, seg_id seg, uint32_t number,
                           struct spot *s)
{
    return find_at(t, map_get(&t->homes, seg), seg, number, s);
}

/* ---- looking ahead --------------------------------------------------------------- */

/* Where the tickets of a batch are, found before any is dealt with: they are all over the
 * memory, and so the lines that they need are fetched side by side. Polls and leaves
 * change nobody's spot. */
struct ahead {
    seg_id seg; /* of the last: neighbours are mostly of one segment */
    uint64_t home;
    enum spot_kind kind[LOOK_AHEAD];
    struct spot spot[LOOK_AHEAD];
};

static inline void look_ahead(const struct segtab *t, struct ahead *h, uint32_t i,
                              seg_id seg, uint32_t number)
{
    struct spot *s = &h->spot[i];
    const struct block *b;

    if (i == 0 || seg != h->seg) {
        h->seg = seg;
        h->home = map_get(&t->homes, seg);
    }
    h->kind[i] = find_at(t, h->home, seg, number, s);
    if (h->kind[i] != SPOT_HERE || s->slot == SEGQ_NONE)
        return;
    b = segq_block(&s->seg->b.q, s->slot);
    if (b == NULL)
        return;
    __builtin_prefetch(b->alive, 1);
    __builtin_prefetch(&b->idle[s->slot & (BLOCK_SLOTS - 1)], 1);
}

/* ---- polls ----------------------------------------------------------------------- */

/* An idle deadline: not before idle time and told interval are over. */
static uint8_t deadline(const struct segtab *t, const struct seg *g, uint32_t ms)
{
    uint32_t units = (uint32_t)(ms * g->per_unit) + 2;

    return (uint8_t)(segtab_unit(t, g) + (units < BODY_HORIZON ? units : BODY_HORIZON));
}

static uint32_t idle_ms(const struct seg *g, unsigned client)
{
    return g->queue->idle_ms[client < CLIENT_NCLASSES ? client : CLIENT_GAME];
}

static uint8_t class_bit(unsigned client)
{
    return (uint8_t)(1u << (client < CLIENT_NCLASSES ? client : CLIENT_GAME));
}

static uint32_t told_ms(const struct segtab *t, const struct seg *g, uint64_t position,
                        uint32_t number)
{
    uint32_t salt = number ^ (uint32_t)t->now.now_ms;
    uint32_t ms = pace_jittered_ms(&g->queue->pace[g->lane], position, salt);

    return ms < g->told_max_ms ? ms : g->told_max_ms;
}

/* 0: not known. What is released and not stored may yet wait again: it counts. */
uint64_t segtab_position(const struct seg *g, uint32_t slot)
{
    if (SQ_UNLIKELY(g->b.q.hollow || g->ahead == AHEAD_UNKNOWN || g->early))
        return 0;
    return g->ahead + segq_rank(&g->b.q, slot) + g->unkept.held + 1;
}

static enum no_place no_place(const struct seg *g)
{
    return g->early ? NO_PLACE_EARLY : NO_PLACE_NOW;
}

/* What the interval follows where the position is unknown: not more people can be before
 * it in a hollow segment; of those before it in others one segment's worth is assumed. */
static uint64_t far_position(const struct seg *g, uint32_t slot)
{
    if (g->b.q.hollow)
        return slot >= g->mark_end ? slot - g->mark_end + 1ull : 1;
    return (uint64_t)g->capacity + segq_rank(&g->b.q, slot) + 1;
}

static void place_waiting(struct segtab *t, const struct spot *s, unsigned client,
                          struct place_ans *a)
{
    struct seg *g = s->seg;

    a->state = PLACE_WAITING;
    a->position = segtab_position(g, s->slot);
    if (SQ_UNLIKELY(a->position == 0))
        a->reason = no_place(g);
    a->poll_after_ms =
        told_ms(t, g, a->position != 0 ? a->position : far_position(g, s->slot),
                s->id.number);
    segq_mark(&g->b.q, s->slot, deadline(t, g, idle_ms(g, client) + a->poll_after_ms));
    g->classes |= class_bit(client);
    g->polls++;
    if (SQ_UNLIKELY(g->out != NULL))
        xfer_out_touch(&g->out->out, s->slot);
}

static void place_gone(struct place_ans *a, unsigned reason)
{
    a->state = PLACE_GONE;
    a->reason = (uint8_t)reason;
}

int segtab_make_pass(struct segtab *t, const struct seg *g, const struct session *x,
                     struct arena *mem, const char **out)
{
    const struct subject *sub = subjects_by_ticket(&g->b.subjects, x->id);
    bool named = sub != NULL && !subject_is_key(sub->text, sub->len);
    struct ticket_id id = segtab_outside(t, x->id);
    struct seg_pass p = {
        .queue = g->queue->name,
        .lane = g->queue->lanes[g->lane],
        .issuer = g->queue->issuer,
        .subject = named ? sub->text : NULL,
        .subject_len = named ? sub->len : 0,
        .seg = id.seg,
        .number = id.number,
        .released_at_ms = x->released_at_ms,
        .expires_s = segtab_until_s(g, x),
    };
    char *text = arena_alloc(mem, MSG_PASS_MAX);
    int n = text != NULL ? t->o.make_pass(t->o.ctx, &p, text) : -1;

    *out = text;
    t->n.passes_made += n >= 0;
    return n;
}

static void place_pass(struct segtab *t, const struct seg *g, const struct session *x,
                       struct place_ans *a, struct arena *mem)
{
    int n = segtab_make_pass(t, g, x, mem, &a->pass);

    if (n < 0) { /* no memory, or an impossible name: ask again */
        a->state = PLACE_BUSY;
        return;
    }
    a->state = PLACE_ADMITTED;
    a->pass_len = (uint16_t)n;
    a->released_at_ms = x->released_at_ms;
    a->pass_expires_s = segtab_until_s(g, x);
}

static void place_returning(struct segtab *t, struct seg *g, struct session *x,
                            unsigned client, struct place_ans *a)
{
    uint32_t retry = t->o.retry_ms;
    msec_t until = t->service_ms + idle_ms(g, client) + retry;
    bool comes = x->state != SESSION_RETURNING;

    if (comes && t->hold) {
        a->state = PLACE_BUSY;
        return;
    }
    if (comes) {
        t->n.returned++;
        segtab_audit_session(t, g, x, AUDIT_RETURNED, NULL);
        segtab_touch(t, g);
    }
    session_set(&g->b.released, x, SESSION_RETURNING, until);
    if (comes)
        segtab_log_session(t, g, x);
    a->state = PLACE_WAITING;
    a->position = 1;
    a->poll_after_ms = retry;
}

/* Released, but nobody may hear of it yet: in a moment, if the manager is there. */
static void place_unkept(const struct segtab *t, struct place_ans *a)
{
    a->state = t->manager != 0 ? PLACE_BUSY : PLACE_WAITING;
    a->reason = NO_PLACE_NOW;
    a->poll_after_ms = t->o.retry_ms;
}

static void place_released(struct segtab *t, struct seg *g, struct session *x,
                           unsigned client, struct place_ans *a, struct arena *mem)
{
    x->client = (uint8_t)client;
    switch ((enum session_state)x->state) {
    case SESSION_READY:
        if (t->hold) { /* its release is perhaps not written down */
            a->state = PLACE_BUSY;
            return;
        }
        if (SQ_UNLIKELY(g->unkept.n > 0) && marks_has(&g->unkept, x->id)) {
            place_unkept(t, a);
            return;
        }
        if (x->expires_ms <= t->now.now_ms) { /* we were away for a pass's whole life */
            place_returning(t, g, x, client, a);
            return;
        }
        /* fall through */
    case SESSION_ADMITTED:
        if (x->expires_ms <= t->now.now_ms) {
            place_gone(a, GONE_FINISHED);
            return;
        }
        place_pass(t, g, x, a, mem);
        if (x->state == SESSION_READY && a->state == PLACE_ADMITTED) {
            segtab_audit_session(t, g, x, AUDIT_ADMITTED, NULL);
            session_set(&g->b.released, x, SESSION_ADMITTED, x->expires_ms);
            segtab_log_session(t, g, x);
            t->n.admitted++;
            g->claimed++;
            segtab_touch(t, g);
        }
        return;
    case SESSION_GRACE:
    case SESSION_RETURNING:
        place_returning(t, g, x, client, a);
        return;
    default:
        place_gone(a, x->reason);
    }
}

/* Why a dead ticket without a record is dead, as far as that is still known. */
unsigned segtab_reason(const struct spot *s)
{
    const struct segq *q = &s->seg->b.q;

    if (s->slot == SEGQ_NONE)
        return s->reason;
    switch (segq_epitaph(q, s->slot)) {
    case DEAD_LEFT:
        return GONE_LEFT;
    case DEAD_EXPIRED:
        return GONE_EXPIRED;
    case DEAD_POPPED:
        return GONE_FINISHED;
    case DEAD_UNSAID:
        break;
    }
    return s->slot < q->popped_end ? GONE_FINISHED : GONE_EXPIRED;
}

/* Who polls so long after the join has its answer: the key of it is not needed any more.
 * (Earlier it may be the router that asks, for a join that it holds.) Not written down: a
 * node that starts anew forgets it again. */
static void forget_key(struct segtab *t, struct seg *g, uint32_t slot)
{
    struct ticket_id id = body_ticket(&g->b, slot);
    const struct subject *x = subjects_by_ticket(&g->b.subjects, id);

    if (x != NULL && subject_is_key(x->text, x->len) && g->out == NULL &&
        t->now.wall_ms / 1000 - x->issued_s >= SEGTAB_KEY_S)
        subjects_del(&g->b.subjects, id);
}

static void place_one(struct segtab *t, const struct place_req *r, enum spot_kind k,
                      const struct spot *s, struct place_ans *a, struct arena *mem)
{
    struct session *x;

    memset(a, 0, sizeof(*a));
    if (SQ_UNLIKELY(k == SPOT_UNKNOWN)) {
        a->state = PLACE_UNKNOWN;
        t->n.unknown++;
    } else if (SQ_UNLIKELY(k == SPOT_MOVED)) {
        a->state = PLACE_MOVED;
        a->moved_to = s->moved_to;
        t->n.moved++;
    } else if (SQ_UNLIKELY(seg_is_fenced(s->seg))) {
        a->state = PLACE_BUSY;
        t->n.busy++;
    } else if (s->slot != SEGQ_NONE && segq_is_alive(&s->seg->b.q, s->slot)) {
        place_waiting(t, s, r->client, a);
        if (SQ_UNLIKELY(s->seg->b.subjects.n > 0))
            forget_key(t, s->seg, s->slot);
    } else if ((x = sessions_find(&s->seg->b.released, s->id)) != NULL) {
        place_released(t, s->seg, x, r->client, a, mem);
    } else if (SQ_UNLIKELY(s->seg->b.q.hollow) && segtab_rebuild_poll(t, s)) {
        if (segq_is_alive(&s->seg->b.q, s->slot))
            place_waiting(t, s, r->client, a);
        else
            a->state = PLACE_BUSY; /* no memory, or it could not be written down */
    } else {
        place_gone(a, segtab_reason(s));
    }
}

void segtab_place(struct segtab *t, struct seg_now now, const struct place_req *req,
                  uint32_t n, struct place_ans *ans, struct arena *mem)
{
    struct ahead h;

    segtab_heard(t, now);
    for (uint32_t from = 0, k; from < n; from += k) {
        k = n - from < LOOK_AHEAD ? n - from : LOOK_AHEAD;
        for (uint32_t i = 0; i < k; i++)
            look_ahead(t, &h, i, req[from + i].seg, req[from + i].number);
        for (uint32_t i = 0; i < k; i++)
            place_one(t, &req[from + i], h.kind[i], &h.spot[i], &ans[from + i], mem);
    }
    t->n.places += n;
}

/* ---- joins ----------------------------------------------------------------------- */

static bool is_replaced(const struct append_req *r, struct ticket_id id)
{
    return r->old_seg != 0 && id.seg == r->old_seg && id.number == r->old_number;
}

/* In any segment of the queue on this node; not that of the ticket that r replaces. */
static const struct subject *find_subject(const struct segtab *t, const struct queue *q,
                                          const struct append_req *r)
{
    const struct subject *x = NULL;

    for (struct list_node *it = list_first(&q->segs); it != NULL && x == NULL;
         it = list_next(&q->segs, it)) {
        x = subjects_by_name(&container_of(it, struct seg, queued)->b.subjects,
                             r->subject_hash, r->subject, r->subject_len);
        if (x != NULL && is_replaced(r, segtab_outside(t, x->id)))
            x = NULL;
    }
    return x;
}

static void append_wait(struct append_ans *a)
{
    a->state = APPEND_BUSY;
    a->poll_after_ms = DIR_WAIT_MS;
}

/* false: this subject has no live ticket here. */
static bool append_existing(struct segtab *t, const struct seg *g,
                            const struct append_req *r, struct append_ans *a)
{
    const struct subject *x = find_subject(t, g->queue, r);
    struct ticket_id id;
    struct spot s;

    if (x == NULL)
        return false;
    id = segtab_outside(t, x->id);
    if (segtab_find(t, id.seg, id.number, &s) != SPOT_HERE)
        return false;
    a->state = APPEND_EXISTING;
    a->seg = id.seg;
    a->number = id.number;
    a->issued_s = x->issued_s;
    a->client = x->client;
    a->position = 1; /* released or returning */
    a->poll_after_ms = t->o.retry_ms;
    if (s.slot != SEGQ_NONE && segq_is_alive(&s.seg->b.q, s.slot)) {
        struct place_ans p;

        if (seg_is_fenced(s.seg)) {
            append_wait(a);
            return true;
        }
        place_waiting(t, &s, x->client, &p);
        a->position = p.position;
        a->poll_after_ms = p.poll_after_ms;
    }
    return true;
}

static int remember(struct seg *g, const struct append_req *r, const struct append_ans *a)
{
    struct subject x = {
        .id = { g->b.id, a->number },
        .issued_s = a->issued_s,
        .client = r->client,
        .len = r->subject_len,
        .hash = r->subject_hash,
        .text = (char *)(uintptr_t)r->subject, /* only read */
    };

    return r->subject_len > 0 ? subjects_add(&g->b.subjects, &x) : 0;
}

/* Half full, nearly full, full: what the manager wants to know at once. */
static bool is_filling(const struct seg *g)
{
    uint64_t n = g->b.joined;

    return n == g->capacity / 2 || n == g->capacity - g->capacity / 8 || n == g->capacity;
}

/* Nobody waited: it may be let in at once, if the manager hears of it. Lines that are empty
 * again after every join do not make a report of each. */
static bool is_first(const struct segtab *t, const struct seg *g)
{
    return g->b.q.waiting == 1 && t->now.now_ms - t->report_ms >= SEGTAB_FIRST_MS;
}

static void append_new(struct segtab *t, struct seg *g, const struct append_req *r,
                       struct append_ans *a)
{
    struct segq *q = &g->b.q;

    a->state = APPEND_BUSY;
    a->number = q->end;
    a->issued_s = (uint32_t)(t->now.wall_ms / 1000);
    if (remember(g, r, a) < 0) {
        segtab_unclaim(t, r->subject_hash);
        return;
    }
    if (segq_append(q, 0, &a->number) < 0) {
        subjects_del(&g->b.subjects, (struct ticket_id) { g->b.id, a->number });
        return;
    }
    g->b.joined = q->end;
    segtab_log_join(t, g, a->number);
    if (r->subject_len > 0)
        segtab_log_subject(t, g, subjects_by_ticket(&g->b.subjects,
                                                    (struct ticket_id) { g->b.id,
                                                                         a->number }));
    a->state = APPEND_OK;
    a->client = r->client;
    a->seg = g->b.id;
    a->position = segtab_position(g, a->number);
    if (SQ_UNLIKELY(a->position == 0))
        a->no_place = no_place(g);
    a->poll_after_ms =
        told_ms(t, g, a->position != 0 ? a->position : far_position(g, a->number),
                a->number);
    segq_mark(q, a->number, deadline(t, g, idle_ms(g, r->client) + a->poll_after_ms));
    g->classes |= class_bit(r->client);
    if (g->b.joined >= g->capacity)
        segq_seal(q);
    t->urgent = t->urgent || is_filling(g) || is_first(t, g);
    t->n.joined++;
    segtab_audit_join(t, g, r, a->number);
    segtab_wake(t, g);
    segtab_touch(t, g);
}

/* Another node has its ticket: which one is said, and how it stands is for that node to say
 * (the router asks it). */
static void append_elsewhere(const struct segtab *t, const struct dir_row *has,
                             struct append_ans *a)
{
    a->state = APPEND_EXISTING;
    a->seg = has->seg;
    a->number = has->number;
    a->issued_s = has->issued_s;
    a->client = has->client;
    a->poll_after_ms = t->o.retry_ms;
}

/* May it have a ticket here? If not, *a says why. */
static bool may_append(struct segtab *t, const struct append_req *r, struct append_ans *a)
{
    enum claim_word w = CLAIM_OURS;
    struct dir_row has;

    if (t->hold || t->full) {
        a->state = APPEND_BUSY;
        return false;
    }
    if (r->subject_len > 0)
        w = segtab_claim(t, r->subject_hash,
                         (struct ticket_id) { r->old_seg, r->old_number }, &has);
    if (w == CLAIM_HAS && is_replaced(r, (struct ticket_id) { has.seg, has.number }))
        w = CLAIM_WAIT; /* its owner is of an older release */
    if (w == CLAIM_WAIT)
        append_wait(a);
    else if (w == CLAIM_HAS)
        append_elsewhere(t, &has, a);
    return w == CLAIM_OURS;
}

/* v: what `homes` has for its segment. */
static void append_one(struct segtab *t, uint64_t v, const struct append_req *r,
                       struct append_ans *a)
{
    struct seg *g = (struct seg *)(uintptr_t)v;

    memset(a, 0, sizeof(*a));
    if (v == MAP_NONE || (v & 3) != HOME_SEG) {
        a->state = APPEND_UNKNOWN;
        t->n.unknown++;
        return;
    }
    if (r->subject_len > 0 && append_existing(t, g, r, a))
        return;
    if (g->b.q.sealed) {
        a->state = APPEND_SEALED;
        a->next = g->next;
        t->n.sealed_answers++;
        if (r->subject_len > 0)
            segtab_unclaim(t, r->subject_hash);
        return;
    }
    if (may_append(t, r, a))
        append_new(t, g, r, a);
    t->n.busy += a->state == APPEND_BUSY;
}

void segtab_append(struct segtab *t, struct seg_now now, const struct append_req *req,
                   uint32_t n, struct append_ans *ans)
{
    uint64_t home = MAP_NONE;

    segtab_heard(t, now);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || req[i].seg != req[i - 1].seg) /* mostly one lane's tail */
            home = map_get(&t->homes, req[i].seg);
        append_one(t, home, &req[i], &ans[i]);
    }
    segtab_log_joins(t);
    t->n.appends += n;
}

/* ---- leaves ---------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void drop_here(struct segtab *t,
                                                            const struct spot *s)
{
    struct seg *g = s->seg;
    struct session *x;

    if (s->slot != SEGQ_NONE && segq_drop(&g->b.q, s->slot, DEAD_LEFT)) {
        segtab_audit_ticket(t, g, s->id, AUDIT_LEFT);
        subjects_del(&g->b.subjects, s->id);
        if (g->out != NULL)
            xfer_out_touch(&g->out->out, s->slot);
        g->left++;
        t->n.left++;
        if (segtab_logs(t)) /* asked here: a record costs as much as a leave */
            segtab_log_drops(t, g, &s->slot, 1, DEAD_LEFT);
        segtab_touch(t, g);
        return;
    }
    x = sessions_find(&g->b.released, s->id);
    if (x != NULL && x->state == SESSION_ADMITTED && x->expires_ms > t->now.now_ms)
        segtab_revoke(t, g, x, GONE_LEFT);
    else if (x != NULL && x->state != SESSION_OVER && x->state != SESSION_REVOKED)
        segtab_over(t, g, x, GONE_LEFT);
    else if (x == NULL && g->b.q.hollow)
        segtab_rebuild_leave(t, s);
}

void segtab_leave(struct segtab *t, const struct spot *s)
{
    drop_here(t, s);
}

/* May it be replaced by a ticket with this subject? */
static enum drop_state may_replace(const struct spot *s, uint64_t heir_hash)
{
    const struct body *b = &s->seg->b;
    const struct subject *own = subjects_by_ticket(&b->subjects, s->id);
    const struct session *x;

    if (s->slot == SEGQ_NONE || !segq_is_alive(&b->q, s->slot)) {
        x = sessions_find(&b->released, s->id);
        if (x != NULL && x->state != SESSION_OVER && x->state != SESSION_REVOKED)
            return DROP_INSIDE;
        return x == NULL && b->q.hollow ? DROP_BUSY : DROP_GONE;
    }
    return own == NULL || subject_is_key(own->text, own->len) || own->hash == heir_hash
               ? DROP_OK
               : DROP_NAMED;
}

static void drop_one(struct segtab *t, enum spot_kind k, const struct spot *s,
                     uint64_t heir_hash, struct drop_ans *a)
{
    memset(a, 0, sizeof(*a));
    if (k == SPOT_UNKNOWN) {
        a->state = DROP_UNKNOWN;
        t->n.unknown++;
    } else if (k == SPOT_MOVED) {
        a->state = DROP_MOVED;
        a->moved_to = s->moved_to;
        t->n.moved++;
    } else if (t->hold || seg_is_fenced(s->seg)) {
        a->state = DROP_BUSY;
        t->n.busy++;
    } else {
        a->state = SQ_UNLIKELY(heir_hash != 0) ? may_replace(s, heir_hash) : DROP_OK;
        if (SQ_LIKELY(a->state == DROP_OK))
            drop_here(t, s);
    }
}

void segtab_drop(struct segtab *t, struct seg_now now, const struct drop_req *req,
                 uint32_t n, struct drop_ans *ans)
{
    struct ahead h;

    segtab_heard(t, now);
    for (uint32_t from = 0, k; from < n; from += k) {
        k = n - from < LOOK_AHEAD ? n - from : LOOK_AHEAD;
        for (uint32_t i = 0; i < k; i++)
            look_ahead(t, &h, i, req[from + i].seg, req[from + i].number);
        for (uint32_t i = 0; i < k; i++)
            drop_one(t, h.kind[i], &h.spot[i], req[from + i].heir_hash, &ans[from + i]);
    }
    t->n.drops += n;
}
