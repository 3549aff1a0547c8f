/* engine_state.h: the whole state of a partition, for tests: its digest, what must hold in it, a
 * queue. */
#ifndef SEGQ_TESTS_ENGINE_STATE_H
#define SEGQ_TESTS_ENGINE_STATE_H

#include <string.h>

#include "common/base/err.h"
#include "task/engine/look.h"
#include "task/engine/replay.h"
#include "task/engine/tqueue.h"
#include "task/keys/buckets.h"
#include "task/keys/ring.h"

/* Applies a record, as it is in a journal. */
SQ_CHECK static inline int engine_replay(struct engine *e, uint8_t kind, const uint8_t *p, size_t n)
{
    struct trec r;
    int rc = trec_decode(kind, p, n, &r);

    return rc < 0 ? rc : engine_apply(e, &r);
}

/* ---- queues ------------------------------------------------------------------------ */

struct queue_view {
    uint32_t tasks;   /* in any state */
    uint64_t waiting;
    uint32_t running;
    uint8_t limited;  /* the queue's own limiter: enum closed */
    uint32_t dead;
    bool redriving;   /* change.h */
};

/* 0; SQ_EUNKNOWN: it has no task. */
static inline int engine_look_queue(const struct engine *e, const struct trec_text *queue,
                      struct queue_view *v)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    const struct limiter *l;

    if (q == NULL)
        return SQ_EUNKNOWN;
    l = tree_limiter_at(&e->tree, q->limiter);
    *v = (struct queue_view){ q->tasks, q->rank.n, l->running, l->closed, q->dead.n,
                              q->redrive_last != 0 };
    return 0;
}

/* ---- keys: what must hold between rings, lines and limiters ------------------------- */

static inline const char *check_turn(const struct tree *t, uint32_t i)
{
    const struct turn *u = tree_turn_at(t, i);
    const struct limiter *l = tree_limiter_at(t, u->limiter);
    bool line_open = u->line.n > 0 && !(u->strict && u->busy > 0);
    bool open = u->ring != 0 && l->closed == 0;

    if (l->rule == NULL)
        return "a turn's limiter has gone";
    if (ring_has_line(t, i) != line_open)
        return "a line that can be served is not in its ring, or the other way round";
    if (ring_has_turn(t, i) != open)
        return "a turn that can be served is not in its ring, or the other way round";
    if (u->parent != 0 && tree_turn_at(t, u->parent)->priority != u->priority)
        return "a turn is below another priority";
    if (u->tasks == 0 && u->below == 0)
        return "a turn that nobody has is still there";
    return NULL;
}

static inline const char *check_limiter(const struct tree *t, uint32_t i)
{
    const struct limiter *l = tree_limiter_at(t, i);
    bool full = l->rule->at_once != 0 && l->running >= l->rule->at_once;
    bool swept = t->windows == NULL || t->windows->at == 0;

    if (full != ((l->closed & CLOSED_AT_ONCE) != 0))
        return "a limiter is full and open, or has room and is closed";
    if (swept && (l->closed & CLOSED_RATE) != 0 && wheel_when(&t->wakes, i) == 0 && bucket_lets_when(t, i) != MSEC_NEVER)
        return "nobody will open a limiter";
    for (unsigned k = 0; t->has_units && k < UNIT_RATES_MAX; k++)
        if (((struct unit_bucket *)pages_at(&t->buckets, i))->window[k] != l->rule->units[k].window)
            return "a rate counts in another window";
    if (((l->closed & CLOSED_PAUSE) != 0) != l->rule->paused)
        return "a limiter is paused, and should not be, or the other way round";
    if (swept && l->turns == 0 && l->below == 0 && wheel_when(&t->wakes, i) == 0 && bucket_full_at(t, i) != MSEC_NEVER)
        return "a limiter that nobody has is still there";
    return NULL;
}

/* NULL, or what does not hold. */
static inline const char *tree_check(const struct tree *t)
{
    uint32_t turns = 0, limiters = 0;
    const char *bad = NULL;

    for (uint32_t i = 1; i < t->n_turns && bad == NULL; i++)
        if (tree_turn_at(t, i)->limiter != 0) {
            turns++;
            bad = check_turn(t, i);
        }
    for (uint32_t i = 1; i < t->n_limiters && bad == NULL; i++)
        if (tree_limiter_at(t, i)->rule != NULL) {
            limiters++;
            bad = check_limiter(t, i);
        }
    if (bad == NULL && (turns != t->turns_now || limiters != t->limiters_now))
        bad = "turns or limiters are not counted right";
    return bad;
}

/* ---- digest ------------------------------------------------------------------------ */

static inline void mix(uint64_t *h, uint64_t v)
{
    *h = (*h ^ v) * 0x9e3779b97f4a7c15u;
    *h ^= *h >> 29;
}

static inline void mix_bytes(uint64_t *h, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mix(h, p[i]);
    mix(h, 256);
}

static inline void mix_text(uint64_t *h, const char *s)
{
    mix_bytes(h, (const uint8_t *)s, strlen(s));
}

static inline void mix_own(uint64_t *h, const struct task_own *own)
{
    if (own == NULL)
        return;
#define X(m, least, most) mix(h, own->m);
    TASK_OWN(X)
#undef X
    mix_text(h, own->labels);
}

static inline void mix_past(uint64_t *h, const struct past *p)
{
    for (uint32_t i = 0; p != NULL && i < p->len; i++)
        mix(h, p->bytes[i]);
    if (p != NULL)
        mix(h, p->earlier);
}

/* Mixes in who is before it in its line, by number: lines are the same, then. */
static inline uint64_t neighbour(const struct engine *e, const struct task *t)
{
    return t->prev == 0 ? 0 : task_number(&e->store, t->prev - 1);
}

/* Places of an offered task: who stands there, in which place of the row, behind whom. */
static inline void mix_offer(const struct engine *e, const struct offer *f, bool waits, uint64_t *h)
{
    for (unsigned i = 0; f != NULL && i < f->n; i++) {
        const struct tqueue *q = tqueue_of(e, f->v[i].slot);

        mix(h, task_number(&e->store, f->v[i].slot) + f->own);
        mix_text(h, q->name);
        mix(h, f->v[i].entry != 0 ? rank_before(&q->rank, f->v[i].entry, 0) : UINT64_MAX);
        if (waits && i != f->own && q->pool->rules.order != ORDER_NUMBER)
            mix(h, neighbour(e, task_at(&e->store, f->v[i].slot)));
    }
}

static inline void mix_task(const struct engine *e, task_slot slot, uint64_t *h)
{
    const struct task *t = task_at(&e->store, slot);
    const struct tqueue *q = tqueue_of(e, slot);
    struct task_view v;

    look_at_task(e, slot, &v);
    mix(h, task_number(&e->store, slot));
    mix(h, (uint64_t)v.state << 32 | (uint64_t)v.priority << 16 | v.attempts);
    mix(h, (uint64_t)task_is_cut(t) << 3 | (uint64_t)v.first << 2 | (uint64_t)v.by_wall << 1 | v.stopping);
    mix(h, (uint64_t)v.order);
    mix(h, v.body);
    mix(h, (uint64_t)v.entered_ms);
    mix(h, (uint64_t)v.until_ms);
    mix_text(h, v.queue);
    mix_text(h, v.key1);
    mix_text(h, v.key2);
    mix_own(h, v.own);
    mix_past(h, attempts_past(&e->attempts, slot));
    mix_offer(e, offers_of(&e->offers, slot), v.state == TASK_WAITING, h);
    if (replies_of(&e->replies, slot) != 0)
        mix(h, replies_of(&e->replies, slot));
    if (v.is_settled)
        mix(h, v.cost_used + 1);
    mix(h, (uint64_t)v.started_ms);
    mix(h, (uint64_t)v.ended_ms);
    mix(h, tree_limiter_at(&e->tree, tree_turn_at(&e->tree, t->turn)->limiter)->running);
    if (v.state == TASK_RUNNING)
        mix(h, t->lease ^ (uint64_t)t->passed << 63);
    if (v.state == TASK_SUCCEEDED)
        mix(h, task_done_start(t));
    if (v.state == TASK_DEAD)
        mix(h, neighbour(e, t) ^ (q->redrive_last == slot + 1));
    if (v.state != TASK_WAITING)
        return;
    mix(h, rank_before(&q->rank, tqueue_entry(q, t), 0)); /* numbers begin anew with a snapshot */
    mix(h, rank_before(&q->rank, tqueue_entry(q, t), t->priority));
    if (q->pool->rules.order != ORDER_NUMBER && !v.first) /* a heap may have another shape */
        mix(h, neighbour(e, t));
}

/* J27: digest of the buckets that are not full at `at`, in any order. */
static inline uint64_t levels_digest(const struct engine *e, msec_t at)
{
    uint64_t all = 0;

    for (uint32_t i = 1; i < e->tree.n_limiters; i++) {
        struct level l;
        uint64_t one = 1;

        if (!tree_level(&e->tree, i, at, &l))
            continue;
        for (uint32_t k = i; k != 0; k = tree_limiter_at(&e->tree, k)->parent)
            mix_text(&one, tree_limiter_at(&e->tree, k)->text);
        mix(&one, l.starts > at * RATE_NS ? (uint64_t)l.starts : 0);
        for (unsigned k = 0; k < UNIT_RATES_MAX; k++)
            mix(&one, l.units[k] > at * RATE_NS || tree_limiter_at(&e->tree, i)->rule->units[k].window != 0
                          ? (uint64_t)l.units[k] : 0);
        all += one;
    }
    return all;
}

/* Digest of all that a replay brings back: equal for equal states. */
static inline uint64_t engine_digest(const struct engine *e)
{
    uint64_t h = e->next_lease, names = 0;

    mix(&h, e->store.next_order);
    mix(&h, e->settled.more);
    mix(&h, e->settled.back);
    for (unsigned k = 0; e->tree.windows != NULL && k < UNIT_WINDOWS; k++) {
        const struct window *w = &e->tree.windows->v[k];

        mix_text(&h, e->tree.windows->zone[k / RATE_NPERS] != NULL ? e->tree.windows->zone[k / RATE_NPERS] : "-");
        mix(&h, w->no);
        mix(&h, (uint64_t)w->from_ms);
        mix(&h, (uint64_t)w->to_ms);
        mix(&h, w->lease);
        mix(&h, w->emptied);
    }
    for (uint32_t i = 0; i < e->n_pools; i++)
        mix_bytes(&h, e->pool[i]->keys.bytes.data, e->pool[i]->keys.bytes.len);
    for (task_slot s = 0; s < e->store.n_slots; s++)
        if (task_at(&e->store, s)->state != TASK_FREE)
            mix_task(e, s, &h);
    for (uint32_t i = 0; i < e->names.n_slots; i++) {
        const struct name *n = pages_at(&e->names.v, i);
        uint64_t one = n->hash.lo;

        mix(&one, n->hash.hi);
        mix(&one, n->no);
        mix(&one, n->digest);
        if (n->no != 0 && wheel_when(&e->names.ends, i) == 0)
            names += one; /* in any order; keys that end are let go by the clock */
    }
    mix(&h, names);
    return h;
}

/* The task as it stands, without its place: that is counted, and costs more than all the rest. */
static inline bool engine_sees(const struct engine *e, task_no no, struct task_view *v)
{
    task_slot slot = task_find(&e->store, no);

    if (slot != SLOT_NONE)
        look_at_task(e, slot, v);
    return slot != SLOT_NONE;
}

#endif
