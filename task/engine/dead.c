/* dead.c: a list in the links that a dead task does not need. */
#include "task/engine/dead.h"

#include "task/engine/tqueue.h"

void dead_add(struct engine *e, task_slot slot)
{
    uint32_t index;
    struct tqueue *q = tqueue_of(e, slot, &index);

    task_at(&e->store, slot)->entry = q->deaths++;
    line_add(&q->dead, &e->store, slot, false);
}

static void set_last(struct engine *e, uint32_t index, uint32_t last)
{
    tqueue_at(e, index)->redrive_last = last;
    if (last == 0)
        wheel_clear(&e->redrives, index);
}

void dead_remove(struct engine *e, task_slot slot)
{
    uint32_t index;
    struct tqueue *q = tqueue_of(e, slot, &index);

    if (q->redrive_last == slot + 1)
        set_last(e, index, task_at(&e->store, slot)->prev);
    line_remove(&q->dead, &e->store, slot, false);
}

uint64_t dead_place(const struct engine *e, task_slot slot)
{
    uint32_t index;
    const struct tqueue *q = tqueue_of(e, slot, &index);

    return task_at(&e->store, slot)->entry - task_at(&e->store, line_head(&q->dead))->entry;
}

/* ---- redriven at a rate ------------------------------------------------------------ */

struct rate dead_rate(const struct tqueue *q)
{
    uint64_t in_10_ms = q->redrive_rate / 100000;

    return rate_make((double)q->redrive_rate / 1000,
                     1 + (uint32_t)u64_min(in_10_ms, RATE_BURST_MAX - 1));
}

int dead_apply_redriving(struct engine *e, const struct trec *r)
{
    struct tqueue *q = tqueue_find(e, r->name.p, r->name.n);
    task_slot slot = task_find(&e->store, r->no);
    uint32_t index;
    int rc;

    if (q == NULL || e->loading || r->most > RATE_PER_1000_S)
        return SQ_EPROTO;
    index = tree_limiter_at(&e->tree, q->limiter)->queue;
    if (r->no == 0) {
        set_last(e, index, 0);
        return 0;
    }
    if (slot == SLOT_NONE || task_at(&e->store, slot)->state != TASK_DEAD ||
        tqueue_of(e, slot, &index) != q)
        return SQ_EPROTO;
    rc = pages_reach(&e->redrive_links, index);
    if (rc < 0)
        return rc;
    set_last(e, index, slot + 1);
    q->redrive_rate = r->most;
    q->redrive_tat = 0;
    wheel_set(&e->redrives, index, ms_max(e->at, 1));
    return 0;
}

void dead_write_redrives(const struct engine *e, struct buf *out)
{
    for (uint32_t i = 1; e->redrives.n > 0 && i < e->n_queues; i++) {
        const struct tqueue *q = tqueue_at(e, i);
        struct trec r = { .kind = TREC_REDRIVING, .name = { q->name, q->len },
                          .most = q->redrive_rate };

        if (q->redrive_last == 0)
            continue;
        r.no = task_number(&e->store, q->redrive_last - 1);
        trec_append(&r, out);
    }
}

void dead_empty_buckets(struct engine *e)
{
    for (uint32_t i = 1; e->redrives.n > 0 && i < e->n_queues; i++)
        if (tqueue_at(e, i)->redrive_last != 0) {
            struct rate rate = dead_rate(tqueue_at(e, i));

            tqueue_at(e, i)->redrive_tat = rate_empty(&rate, e->at);
        }
}
