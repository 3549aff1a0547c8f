/* join.c: joins. */
#include "segment/tickets/join.h"

#include <assert.h>
#include <string.h>

#include "segment/core/auditing.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/directory/parked.h"
#include "segment/directory/permit.h"
#include "segment/tickets/credit.h"
#include "segment/tickets/passes.h"
#include "segment/tickets/waiting.h"

/* Only one ticket may have its name, and may be found by it. */
static bool is_named(const struct append_req *r)
{
    return r->subject_len > 0 && subject_has_name(r->subject, r->subject_len);
}

static bool is_replaced(const struct append_req *r, struct ticket_id id)
{
    return r->old_seg != 0 && id.seg == r->old_seg && id.number == r->old_number;
}

/* In any segment of the queue on this node; not that of the ticket that r replaces. */
static const struct subject *find_subject(const struct segtab *t, const struct queue *q,
                                          const struct append_req *r)
{
    each_queue_seg (q, g) {
        const struct subject *x = subjects_by_name(&g->b.subjects, r->subject_hash,
                                                   r->subject, r->subject_len);

        if (x != NULL && !is_replaced(r, segtab_outside(t, x->id)))
            return x;
    }
    return NULL;
}

static void append_wait(struct append_ans *a)
{
    a->state = APPEND_BUSY;
    a->poll_after_ms = DIR_WAIT_MS;
}

/* Does x work with another device than the join's? */
static bool is_alien(const struct append_req *r, const struct subject *x)
{
    size_t own = subject_head(x->text, x->len), asks = subject_head(r->subject, r->subject_len);
    struct bound a, b;

    return own > 0 && asks > 0 && bound_read(&a, x->text + 2, own - 2) &&
           bound_read(&b, r->subject + 2, asks - 2) && a.device[0] != '\0' && b.device[0] != '\0' &&
           strcmp(a.device, b.device) != 0;
}

/* false: this subject has no live ticket here. */
static bool append_existing(struct segtab *t, const struct seg *g,
                            const struct append_req *r, struct append_ans *a)
{
    const struct subject *x = find_subject(t, g->queue, r);
    struct ticket_id id;
    struct location s;

    if (x == NULL)
        return false;
    id = segtab_outside(t, x->id);
    if (segtab_find(t, id.seg, id.number, &s) != FOUND_HERE)
        return false;
    if (seg_is_fenced(s.seg)) { /* the copy would not know of this join */
        append_wait(a);
        return true;
    }
    a->state = APPEND_EXISTING;
    a->seg = id.seg;
    a->number = id.number;
    a->issued_s = x->issued_s;
    a->client = x->client;
    a->position = 1; /* released or returning */
    a->poll_after_ms = t->o.retry_ms;
    if (s.slot != SEGQ_NONE && segq_is_alive(&s.seg->b.q, s.slot)) {
        struct place_ans p;

        place_waiting(t, &s, x->client, &p);
        a->position = p.position;
        a->poll_after_ms = p.poll_after_ms;
    }
    if (SQ_UNLIKELY(is_alien(r, x)))
        a->position = APPEND_ALIEN;
    else
        a->counted = subjects_found(&s.seg->b.subjects, s.id) ? APPEND_COUNTED : 0;
    return true;
}

static int remember(struct seg *g, const struct append_req *r, const struct append_ans *a)
{
    struct subject x = {
        .id = { g->b.id, a->number },
        .issued_s = a->issued_s,
        .client = r->client,
        .len = r->subject_len,
        .joins = 1,
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

/* Lets a join in at once if nobody waited, and the manager hears of it. Lines that are empty
 * again after every join do not make a report of each; those whose credit has run out do, since
 * it begins anew with that. */
static bool is_first(const struct segtab *t, const struct seg *g)
{
    return g->b.q.waiting == 1 &&
           (t->now.now_ms - t->report_ms >= SEGTAB_FIRST_MS || g->credit.aside > 0);
}

static void log_subject(struct segtab *t, const struct seg *g, const struct append_req *r,
                        uint32_t number)
{
    if (r->subject_len > 0)
        segtab_log_subject(t, g, subjects_by_ticket(&g->b.subjects,
                                                    (struct ticket_id) { g->b.id, number }));
}

/* Released, and told so if its pass can be made; else its first poll gets it. */
static void answer_entered(struct segtab *t, struct seg *g, struct session *x,
                           struct append_ans *a, struct arena *mem)
{
    int n = segtab_make_pass(t, g, x, mem, &a->pass);

    if (n < 0) {
        a->state = APPEND_OK;
        a->position = 1;
        a->poll_after_ms = t->o.retry_ms;
        return;
    }
    a->state = APPEND_ENTERED;
    a->pass_len = (uint16_t)n;
    a->released_at_ms = x->released_at_ms;
    a->pass_expires_s = segtab_until_s(g, x);
    segtab_admit(t, g, x);
}

/* false: it must wait. */
static bool append_entered(struct segtab *t, struct seg *g, const struct append_req *r,
                           struct append_ans *a, struct arena *mem)
{
    struct session *x;

    if (r->old_seg != 0 || !credit_admits(t, g)) /* gives back another place */
        return false;
    a->seg = g->b.id;
    a->number = g->credit.at;
    a->client = r->client;
    a->issued_s = (uint32_t)(t->now.wall_ms / 1000);
    if (remember(g, r, a) < 0)
        return false;
    x = credit_take(t, g);
    if (x == NULL) {
        subjects_del(&g->b.subjects, (struct ticket_id) { g->b.id, a->number });
        return false;
    }
    x->client = r->client;
    segtab_log_entered(t, g, x);
    log_subject(t, g, r, a->number);
    segtab_audit_join(t, g, r, a->number);
    segtab_audit_released(t, g, x, false);
    t->n.joined++;
    t->n.popped++;
    t->n.entered++;
    answer_entered(t, g, x, a, mem);
    segtab_wake(t, g);
    segtab_touch(t, g);
    return true;
}

/* Stamp, later than that of what it replaces: of two tickets of one subject the later one counts
 * (steps.h, directory.h), and clocks of two nodes differ, or leap back. */
static uint32_t issued_s(const struct segtab *t, const struct append_req *r)
{
    uint64_t now_s = (uint64_t)(t->now.wall_ms / 1000);

    return (uint32_t)(r->old_seg != 0 ? u64_max(now_s, r->old_issued_s + 1ull) : now_s);
}

static void append_new(struct segtab *t, struct seg *g, const struct append_req *r,
                       struct append_ans *a)
{
    struct segq *q = &g->b.q;

    assert(!q->sealed && !t->hold);
    credit_end(g);
    a->state = APPEND_BUSY;
    a->number = q->end;
    a->issued_s = issued_s(t, r);
    if (remember(g, r, a) < 0) {
        segtab_permit_return(t, r->subject_hash);
        return;
    }
    if (segq_append(q, 0, &a->number) < 0) {
        subjects_del(&g->b.subjects, (struct ticket_id) { g->b.id, a->number });
        return;
    }
    g->b.joined = q->end;
    segtab_log_join(t, g, a->number);
    log_subject(t, g, r, a->number);
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
static enum permit_word may_append(struct segtab *t, const struct append_req *r, struct append_ans *a)
{
    enum permit_word w = PERMIT_OURS;
    struct dir_row has;

    if (t->hold || t->full) {
        a->state = APPEND_BUSY;
        return PERMIT_WAIT;
    }
    if (is_named(r))
        w = segtab_permit(t, r->subject_hash,
                         (struct ticket_id) { r->old_seg, r->old_number }, &has);
    if (w == PERMIT_WAIT || w == PERMIT_COMES)
        append_wait(a);
    else if (w == PERMIT_HAS)
        append_elsewhere(t, &has, a);
    return w;
}

/* v: what `locations` has for its segment. False: another node's word may be waited for. */
static bool append_one(struct segtab *t, uint64_t v, const struct append_req *r,
                       struct append_ans *a, struct arena *mem)
{
    struct seg *g = (struct seg *)(uintptr_t)v;
    enum permit_word w;

    memset(a, 0, sizeof(*a));
    if (v == MAP_NONE || (v & 3) != AT_SEG) {
        a->state = APPEND_UNKNOWN;
        t->n.unknown++;
        return true;
    }
    if (is_named(r) && append_existing(t, g, r, a))
        return true;
    if (g->b.q.sealed) {
        a->state = APPEND_SEALED;
        a->next = g->next;
        t->n.sealed_answers++;
        if (is_named(r))
            segtab_permit_return(t, r->subject_hash);
        return true;
    }
    w = may_append(t, r, a);
    if (w == PERMIT_OURS && !append_entered(t, g, r, a, mem))
        append_new(t, g, r, a);
    if (SQ_UNLIKELY(w == PERMIT_COMES))
        return false;
    t->n.busy += a->state == APPEND_BUSY;
    return true;
}

/* Answered already: it is to ask again. */
static void count_busy(struct segtab *t)
{
    t->n.busy++;
    t->dir.n_busy++;
}

/* False: it does not wait for the word. */
static bool park(struct segtab *t, const struct append_from *from, uint32_t row, const struct append_req *r)
{
    struct permit *c = permit_asked(&t->dir, r->subject_hash);

    return from != NULL && r->later && c != NULL && parked_add(t, c, from, (uint8_t)row, r);
}

uint32_t segtab_append_from(struct segtab *t, struct seg_now now, const struct append_from *from,
                       const struct append_req *req, uint32_t n, struct append_ans *ans,
                       struct arena *mem)
{
    uint64_t entry = MAP_NONE;
    uint32_t k = 0;

    assert(mem != NULL);
    segtab_heard(t, now);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || req[i].seg != req[i - 1].seg) /* mostly one lane's tail */
            entry = map_get(&t->locations, req[i].seg);
        if (!append_one(t, entry, &req[i], &ans[k], mem)) {
            if (park(t, from, i, &req[i])) {
                for (uint32_t j = 0; k == i && j < k; j++)
                    ans[j].row = (uint8_t)j; /* from now on their order does not say it */
                continue;
            }
            count_busy(t);
        }
        if (SQ_UNLIKELY(k != i))
            ans[k].row = (uint8_t)i;
        k++;
    }
    segtab_log_joins(t);
    t->n.appends += n;
    return k;
}

/* ---- joins that have waited for another node's word ----------------------------------- */

/* False: it waits again. */
static bool append_parked(struct segtab *t, struct parked *p, struct append_ans *a, struct arena *mem)
{
    struct permit *c;

    memset(a, 0, sizeof(*a));
    append_wait(a);
    if (!p->is_here || !append_one(t, map_get(&t->locations, p->req.seg), &p->req, a, mem)) {
        c = p->is_here ? permit_asked(&t->dir, p->req.subject_hash) : NULL;
        if (c != NULL) {
            parked_again(&t->dir, c, p);
            return false;
        }
        count_busy(t);
    }
    a->row = p->row;
    return true;
}

/* Answers, in a frame, those in front that are of one batch. False: no memory. */
static bool answer_parked(struct segtab *t, struct append_from from, struct outbox *out)
{
    uint32_t most = parked_run(&t->dir), n = 0;
    struct append_ans *ans = arena_array(&out->mem, most, sizeof(*ans));
    struct msg_append_ans *m;

    for (uint32_t i = 0; ans != NULL && i < most; i++) {
        struct parked *p = parked_due(&t->dir);

        if (!append_parked(t, p, &ans[n], &out->mem))
            continue;
        parked_done(&t->dir, p);
        n++;
    }
    if (n > 0) {
        m = &outbox_answer(out, from.peer, from.rid, MSG_APPEND_ANS)->append_ans;
        m->n = n;
        m->ans = ans;
    }
    out->failed |= ans == NULL;
    return ans != NULL;
}

void segtab_append_due(struct segtab *t, struct outbox *out)
{
    const struct parked *p;

    while ((p = parked_due(&t->dir)) != NULL && answer_parked(t, p->from, out))
        ;
    segtab_log_joins(t);
}
