/* history.c: rings of points. Pure. */
#include "queuemng/logbook/history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

#define RATES_MS (3 * HISTORY_STEP_MS) /* a longer time between two looks makes no rate */
#define STEPS_MS 5000                  /* by so much more the wall clock has stepped, or we slept */
#define LINE_MAX (48 * 3600000ll)      /* a longer gap is as good as this one: nothing is left */

static const struct ring {
    uint32_t begin, n;
    int64_t step_ms;
} rings[HISTORY_RANGES] = {
    [HISTORY_10M] = { 0, HISTORY_POINTS_10M, HISTORY_STEP_MS },
    [HISTORY_1H] = { HISTORY_POINTS_10M, HISTORY_POINTS_1H, 10000 },
    [HISTORY_24H] = { HISTORY_POINTS_10M + HISTORY_POINTS_1H, HISTORY_POINTS_24H, 300000 },
};

void history_init(struct history *h)
{
    memset(h, 0, sizeof(*h));
    map_init(&h->queue, 0);
    h->line_ms = HISTORY_STEP_MS / 2; /* amid a slot: a round a little early or late keeps its own */
}

void history_fini(struct history *h)
{
    map_fini_all(&h->queue);
    free(h->all);
}

/* Our clock stands still while the machine sleeps, the wall clock can be set: who has looked again
 * after a time that either of them calls long has seen nothing in it. */
static int64_t passed(const struct history *h, msec_t now_ms, int64_t wall_ms)
{
    int64_t ran = now_ms > h->last_ms ? now_ms - h->last_ms : 0, wall = wall_ms - h->wall_ms;

    if (wall > ran + STEPS_MS)
        ran = wall;
    return ran < LINE_MAX ? ran : LINE_MAX;
}

void history_begin(struct history *h, msec_t now_ms, int64_t wall_ms)
{
    int64_t ms = h->round > 0 ? passed(h, now_ms, wall_ms) : 0;

    h->line_ms += ms;
    h->gap_ms = ms <= RATES_MS ? ms : 0;
    h->last_ms = now_ms;
    h->wall_ms = wall_ms;
    h->round++;
    h->n_before = h->n_seen;
    h->n_seen = 0;
    memset(&h->sums, 0, sizeof(h->sums));
    if (h->all == NULL)
        h->all = calloc(1, sizeof(*h->all)); /* without memory there is no picture, and no harm */
}

/* ---- room ------------------------------------------------------------------------ */

static bool has_people(const struct history_sums *s)
{
    return s->level[0] != 0 || s->level[1] != 0;
}

static bool is_busy(const struct history_sums *s, const struct history_sums *before)
{
    return has_people(s) || s->count[0] != before->count[0] || s->count[1] != before->count[1];
}

/* Room for one more: the queue that has been quiet longest goes, if one is quiet. */
static bool make_room(struct history *h)
{
    struct history_queue *quiet = NULL;
    uint64_t id, val;

    if (h->full == h->round)
        return false;
    for (size_t i = 0; (i = map_next(&h->queue, i, &id, &val)) != 0;) {
        struct history_queue *q = (void *)(uintptr_t)val;

        if (q->busy + 1 < h->round && (quiet == NULL || q->busy < quiet->busy))
            quiet = q;
    }
    if (quiet == NULL) {
        h->full = h->round; /* thousands of others need not look, too */
        return false;
    }
    map_del(&h->queue, quiet->id);
    free(quiet);
    return true;
}

/* A queue that was busy once takes no other's room. */
static struct history_queue *queue_new(struct history *h, uint32_t id,
                                       const struct history_sums *s)
{
    static const struct history_sums none;
    struct history_queue *q;

    if (!is_busy(s, &none))
        return NULL;
    if (h->queue.n >= HISTORY_QUEUES && (!has_people(s) || !make_room(h)))
        return NULL;
    q = calloc(1, sizeof(*q));
    if (q == NULL || map_set_ptr(&h->queue, id, q) < 0) {
        free(q);
        return NULL;
    }
    q->id = id;
    return q;
}

/* ---- points ---------------------------------------------------------------------- */

static uint32_t slot_now(const struct history *h, enum history_range r)
{
    return (uint32_t)(h->line_ms / rings[r].step_ms + 1);
}

static struct history_point *point_of(struct history_queue *q, enum history_range r,
                                      uint32_t slot)
{
    return &q->point[rings[r].begin + slot % rings[r].n];
}

static float more(float a, float b)
{
    return isnan(a) || b > a ? b : a;
}

/* v: levels, then rates. */
static void look_into(struct history_point *p, const float v[HISTORY_FIGURES], bool rates)
{
    p->n++;
    p->n_rates = (uint16_t)(p->n_rates + rates);
    for (size_t i = 0; i < HISTORY_LEVELS; i++)
        p->mean[i] += (v[i] - p->mean[i]) / p->n;
    p->least = p->n == 1 || v[0] < p->least ? v[0] : p->least;
    p->most = p->n == 1 || v[0] > p->most ? v[0] : p->most;
    for (size_t i = HISTORY_LEVELS; i < HISTORY_FIGURES && rates; i++)
        p->mean[i] = p->n_rates == 1 ? v[i] : p->mean[i] + (v[i] - p->mean[i]) / p->n_rates;
    for (size_t i = 0; i < HISTORY_TOPS && rates; i++)
        p->top[i] = more(p->top[i], v[HISTORY_LEVELS + i]);
}

static void point_clear(struct history_point *p, uint32_t slot)
{
    *p = (struct history_point){ .slot = slot };
    for (size_t i = HISTORY_LEVELS; i < HISTORY_FIGURES; i++)
        p->mean[i] = NAN;
    for (size_t i = 0; i < HISTORY_TOPS; i++)
        p->top[i] = NAN;
    for (size_t i = 0; i < HISTORY_WAITS; i++)
        p->wait[i] = NAN;
}

/* Waits that have ended since the last look. */
static void waits_since(struct waits *to, const struct waits *now, const struct waits *before)
{
    for (size_t b = 0; b < WAITS_BUCKETS; b++)
        to->n[b] += now->n[b] > before->n[b] ? now->n[b] - before->n[b] : 0;
}

static void points_add(const struct history *h, struct history_queue *q, const struct history_sums *s,
                       const float v[HISTORY_FIGURES], bool rates)
{
    static const double parts[HISTORY_WAITS] = { 0.5, 0.99 };

    for (enum history_range r = 0; r < HISTORY_RANGES; r++) {
        uint32_t slot = slot_now(h, r);
        struct history_point *p = point_of(q, r, slot);

        if (q->first[r] == 0)
            q->first[r] = slot;
        if (p->slot != slot) {
            point_clear(p, slot);
            q->waits[r] = (struct waits){ 0 };
        }
        if (p->n < UINT16_MAX)
            look_into(p, v, rates);
        if (rates)
            waits_since(&q->waits[r], &s->waits, &q->before.waits);
        for (size_t i = 0; i < HISTORY_WAITS && rates; i++)
            p->wait[i] = (float)waits_quantile(&q->waits[r], parts[i]);
    }
}

/* Sums fall when a segment is lost or a manager is new: what was in between is not known. */
static bool has_rates(const struct history *h, const struct history_queue *q,
                      const struct history_sums *s)
{
    bool known = q->seen != 0 && h->gap_ms > 0;

    for (size_t i = 0; i < HISTORY_COUNTS; i++)
        known = known && s->count[i] >= q->before.count[i];
    return known;
}

/* A count that fell (a node has begun anew) has not grown. */
static void look_whether_still(const struct history *h, struct history_queue *q,
                               const struct history_sums *s)
{
    if (s->level[0] == 0 || s->count[1] > q->before.count[1])
        q->still_ms = 0;
    else if (q->still_ms == 0)
        q->still_ms = h->line_ms;
}

static void queue_add(const struct history *h, struct history_queue *q,
                      const struct history_sums *s, bool rates)
{
    float v[HISTORY_FIGURES];

    for (size_t i = 0; i < HISTORY_LEVELS; i++)
        v[i] = (float)s->level[i];
    for (size_t i = 0; i < HISTORY_COUNTS; i++)
        v[HISTORY_LEVELS + i] = rates ? (float)((double)(s->count[i] - q->before.count[i]) * 1000 /
                                                (double)h->gap_ms)
                                      : NAN;
    points_add(h, q, s, v, rates);
    look_whether_still(h, q, s);
    q->before = *s;
    q->seen = h->round;
}

void history_add(struct history *h, uint32_t id, const struct history_sums *s)
{
    struct history_queue *q = map_get_ptr(&h->queue, id);

    assert(id != 0);
    h->n_seen++;
    for (size_t i = 0; i < HISTORY_LEVELS; i++)
        h->sums.level[i] += s->level[i];
    for (size_t i = 0; i < HISTORY_COUNTS; i++)
        h->sums.count[i] += s->count[i];
    waits_join(&h->sums.waits, &s->waits);
    if (q == NULL)
        q = queue_new(h, id, s);
    if (q == NULL)
        return;
    assert(h->round > 0 && q->seen < h->round); /* once a round */
    if (is_busy(s, &q->before) || q->seen == 0)
        q->busy = h->round;
    queue_add(h, q, s, has_rates(h, q, s));
}

/* A queue that comes, or goes, changes the sum of all counts: nobody has joined by that. */
static void all_add(struct history *h)
{
    if (h->all != NULL)
        queue_add(h, h->all, &h->sums,
                  h->n_seen == h->n_before && has_rates(h, h->all, &h->sums));
}

void history_end(struct history *h)
{
    uint64_t id, val;

    all_add(h);
    for (size_t i = 0; (i = map_next(&h->queue, i, &id, &val)) != 0;) {
        struct history_queue *q = (void *)(uintptr_t)val;

        if (q->seen == h->round)
            continue;
        map_del(&h->queue, id);
        free(q);
        i = 0; /* the map has changed */
    }
}

/* ---- looking --------------------------------------------------------------------- */

const struct history_queue *history_of(const struct history *h, uint32_t id)
{
    return id == 0 ? h->all : map_get_ptr(&h->queue, id);
}

int64_t history_step_ms(enum history_range r)
{
    return rings[r].step_ms;
}

static uint32_t oldest(const struct history *h, const struct history_queue *q,
                       enum history_range r)
{
    uint32_t now = slot_now(h, r);

    return now - q->first[r] < rings[r].n ? q->first[r] : now - rings[r].n + 1;
}

size_t history_n(const struct history *h, const struct history_queue *q, enum history_range r)
{
    return q->first[r] == 0 ? 0 : slot_now(h, r) - oldest(h, q, r) + 1;
}

const struct history_point *history_at(const struct history *h, const struct history_queue *q,
                                       enum history_range r, size_t i)
{
    uint32_t slot = oldest(h, q, r) + (uint32_t)i;
    const struct history_point *p = &q->point[rings[r].begin + slot % rings[r].n];

    assert(i < history_n(h, q, r));
    return p->slot == slot ? p : NULL;
}

int64_t history_still_ms(const struct history *h, const struct history_queue *q)
{
    return q->still_ms == 0 ? 0 : h->line_ms - q->still_ms;
}

void history_rates(const struct history *h, const struct history_queue *q,
                   float out[HISTORY_COUNTS])
{
    const struct history_point *p;

    p = history_n(h, q, HISTORY_10M) > 0
            ? history_at(h, q, HISTORY_10M, history_n(h, q, HISTORY_10M) - 1)
            : NULL;
    for (size_t i = 0; i < HISTORY_COUNTS; i++)
        out[i] = p != NULL && p->n_rates > 0 ? p->mean[HISTORY_LEVELS + i] : 0;
}
