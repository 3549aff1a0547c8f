/* settled.c: sums are made anew out of the records, and levels out of what was said. */
#include "tests/lib/tasks/settled.h"

#include <string.h>

#include "task/keys/buckets.h"
#include "tests/lib/tasks/order.h"

#define LIMITERS 3 /* of a task: queue, key, key below it */

struct levels {
    uint32_t n, limiter[LIMITERS];
    int64_t tat[LIMITERS][UNIT_RATES_MAX];
};

static struct levels levels_of(const struct tree *t, task_slot slot)
{
    uint32_t i = tree_turn_at(t, task_at(t->store, slot)->turn)->limiter;
    struct levels l = { 0 };

    for (; i != 0 && t->has_units; i = tree_limiter_at(t, i)->parent) {
        const struct unit_bucket *b = pages_at(&t->buckets, i);

        l.limiter[l.n] = i;
        memcpy(l.tat[l.n++], b->tat, sizeof(b->tat));
    }
    return l;
}

/* J24: each bucket has changed by the difference: more is taken now, less is given back. */
static void check_levels(struct world *w, const struct mtask *t, const struct levels *before, double more)
{
    struct levels after = levels_of(&w->e->tree, task_slot_of(t->no));
    double now = (double)w->e->at * RATE_NS;

    for (uint32_t i = 0; i < before->n; i++) {
        const struct unit_rate *r = tree_limiter_at(&w->e->tree, before->limiter[i])->rule->units;

        for (unsigned k = 0; k < UNIT_RATES_MAX && r[0].units != 0; k++) {
            double tat = (double)before->tat[i][k], near = r[k].window != 0 ? 0.5 : 1e3;
            double want = (more > 0 && tat < now ? now : tat) +
                          (r[k].units != 0 && r[k].window == 0 ? more * (double)r[k].per_ns / (double)r[k].units : 0);

            if (r[k].window != 0) {
                const struct window *is = window_at(&w->e->tree, r[k].window);

                want = tat + (more > 0 || is->from_ms == t->window[r[k].window % RATE_NPERS] ? more : 0);
            }
            want = r[k].units != 0 ? (want > 0 ? want : 0) : tat;
            if ((double)after.tat[i][k] < want - near || (double)after.tat[i][k] > want + near)
                world_broke(w, "J24: %f units more of task %lx: a limiter has paid another number", more, t->no);
        }
    }
}

static void judge(struct world *w, struct mtask *t, const struct levels *before, uint64_t units)
{
    check_levels(w, t, before, (double)units - (double)t->charged);
    order_settle(w, t, (double)units - (double)t->charged);
    t->charged = units;
}

void settled_say(struct world *w, struct mtask *t)
{
    uint64_t units = rng_chance(&w->rng, 0.2) ? 0 : rng_below(&w->rng, w->plan.cost_most * 2);
    struct levels before;

    if (!t->held || t->is_unsure || t->known != KNOWN_OPEN || !engine_runs(w->e, t->no, t->lease))
        return;
    before = levels_of(&w->e->tree, task_slot_of(t->no));
    if (engine_settle(w->e, t->no, t->lease, units) != 0)
        world_broke(w, "J24: the truth about task %lx is refused", t->no);
    judge(w, t, &before, units);
    t->is_used = true;
}

void settled_unseen(struct world *w, struct mtask *t)
{
    order_settle(w, t, -(double)t->charged);
    t->charged = 0;
    t->is_used = false;
    shares_begin(&w->model->shares);
}

void settled_check(struct world *w, const struct mtask *t, const struct task_view *v)
{
    if (t->known == KNOWN_DONE && !t->is_unsure && v->state == TASK_SUCCEEDED &&
        (v->is_settled != t->is_used || (t->is_used && v->cost_used != t->charged)))
        world_broke(w, "J24: task %lx has forgotten what it took", t->no);
}

/* ---- records ------------------------------------------------------------------------------- */

struct audit {
    bool snapshot;
    uint64_t more, back;
    task_no no[WORLD_TASKS];
    uint64_t cost[WORLD_TASKS], charged[WORLD_TASKS];
};

static void reads(struct audit *a, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    char labels[LABELS_TEXT_MAX + 1];
    struct task_own own;

    if (r->kind == TREC_SNAP || r->kind == TREC_SNAP_END)
        a->snapshot = r->kind == TREC_SNAP;
    if (r->kind == TREC_SETTLEMENTS)
        a->more = r->lo, a->back = r->hi;
    if (r->no == 0 || slot >= WORLD_TASKS || r->kind == TREC_NAME || r->kind == TREC_REDRIVING)
        return; /* names outlive their tasks */
    if (a->no[slot] != r->no)
        a->cost[slot] = a->charged[slot] = 1;
    a->no[slot] = r->no;
    if (r->kind == TREC_OWN && own_decode(&own, labels, r->own.p, r->own.n) == 0)
        a->cost[slot] = own_cost(&own);
    if (r->kind == TREC_START || r->kind == TREC_CALL || r->kind == TREC_TASK || (a->snapshot && r->kind == TREC_OWN))
        a->charged[slot] = a->cost[slot];
    if (r->kind != TREC_SETTLED)
        return;
    a->more += !a->snapshot && r->lo > a->charged[slot] ? r->lo - a->charged[slot] : 0;
    a->back += !a->snapshot && r->lo < a->charged[slot] ? a->charged[slot] - r->lo : 0;
    a->charged[slot] = r->lo;
}

void settled_audit(struct world *w)
{
    const struct buf *j = &w->journal;
    static struct audit a;

    memset(&a, 0, sizeof(a));
    for (size_t at = 0; at + 12 <= j->len;) {
        size_t n = j->data[at] | (size_t)j->data[at + 1] << 8 | (size_t)j->data[at + 2] << 16 |
                   (size_t)j->data[at + 3] << 24, in = 0;
        struct trec_frame f;
        struct trec r;

        while (in < n && trec_next(j->data + at + 12, n, &in, &f))
            if (trec_decode(f.kind, f.p, f.n, &r) == 0)
                reads(&a, &r);
        at += 12 + n;
    }
    if (a.more != w->e->settled.more || a.back != w->e->settled.back)
        world_broke(w, "J24: %lu and %lu units were settled, the partition has %lu and %lu", a.more, a.back,
                    w->e->settled.more, w->e->settled.back);
}
