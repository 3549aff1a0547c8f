/* history.c: rings of points. Pure. */
#include "queuemng/logbook/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

void history_init(struct history *h)
{
    memset(h, 0, sizeof(*h));
    map_init(&h->queue, 0);
}

void history_fini(struct history *h)
{
    uint64_t id, val;

    for (size_t i = 0; (i = map_next(&h->queue, i, &id, &val)) != 0;)
        free((void *)(uintptr_t)val);
    map_fini(&h->queue);
}

void history_begin(struct history *h, msec_t now_ms, int64_t wall_ms)
{
    h->gap_ms = h->last_ms != 0 && now_ms > h->last_ms ? now_ms - h->last_ms : 0;
    h->last_ms = now_ms;
    h->wall_ms = wall_ms;
    h->round++;
}

static bool is_busy(const struct history_sums *s, const struct history_sums *before)
{
    return s->level[0] != 0 || s->level[1] != 0 || s->count[0] != before->count[0] ||
           s->count[1] != before->count[1];
}

/* Room for one more: the queue that has been quiet longest goes, if one is quiet. */
static bool make_room(struct history *h)
{
    struct history_queue *quiet = NULL;
    uint64_t id, val;

    if (h->queue.n < HISTORY_QUEUES)
        return true;
    for (size_t i = 0; (i = map_next(&h->queue, i, &id, &val)) != 0;) {
        struct history_queue *q = (void *)(uintptr_t)val;

        if (q->busy + 1 < h->round && (quiet == NULL || q->busy < quiet->busy))
            quiet = q;
    }
    if (quiet == NULL)
        return false;
    map_del(&h->queue, quiet->id);
    free(quiet);
    return true;
}

static struct history_queue *queue_new(struct history *h, uint32_t id,
                                       const struct history_sums *s)
{
    static const struct history_sums none;
    struct history_queue *q;

    if (!is_busy(s, &none) || !make_room(h))
        return NULL;
    q = calloc(1, sizeof(*q));
    if (q == NULL || map_set_ptr(&h->queue, id, q) < 0) {
        free(q);
        return NULL; /* without memory there is no picture, and no harm */
    }
    q->id = id;
    q->before = *s;
    return q;
}

/* Sums fall when a segment is lost or a manager is new: nothing has happened backwards. */
static float per_s(uint64_t now, uint64_t before, int64_t gap_ms)
{
    return now > before && gap_ms > 0 ? (float)((double)(now - before) * 1000 / (double)gap_ms)
                                      : 0;
}

void history_add(struct history *h, uint32_t id, const struct history_sums *s)
{
    struct history_queue *q = map_get_ptr(&h->queue, id);
    struct history_point *p;

    if (q == NULL)
        q = queue_new(h, id, s);
    if (q == NULL)
        return;
    assert(h->round > 0 && q->seen < h->round); /* once a round */
    if (is_busy(s, &q->before) || q->n == 0)
        q->busy = h->round;
    p = &q->point[q->n++ % HISTORY_POINTS];
    for (size_t i = 0; i < HISTORY_LEVELS; i++)
        p->level[i] = (float)s->level[i];
    for (size_t i = 0; i < HISTORY_COUNTS; i++)
        p->per_s[i] = per_s(s->count[i], q->before.count[i], h->gap_ms);
    q->before = *s;
    q->seen = h->round;
}

void history_end(struct history *h)
{
    uint64_t id, val;

    for (size_t i = 0; (i = map_next(&h->queue, i, &id, &val)) != 0;) {
        struct history_queue *q = (void *)(uintptr_t)val;

        if (q->seen == h->round)
            continue;
        map_del(&h->queue, id);
        free(q);
        i = 0; /* the map has changed */
    }
}

const struct history_queue *history_of(const struct history *h, uint32_t id)
{
    return map_get_ptr(&h->queue, id);
}

size_t history_n(const struct history_queue *q)
{
    return q->n < HISTORY_POINTS ? q->n : HISTORY_POINTS;
}

const struct history_point *history_at(const struct history_queue *q, size_t i)
{
    assert(i < history_n(q));
    return &q->point[(q->n - history_n(q) + i) % HISTORY_POINTS];
}
