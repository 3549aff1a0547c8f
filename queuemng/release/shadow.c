/* shadow.c: see shadow.h. */
#include "queuemng/release/shadow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"

/* Two neighbours become one, as of the earlier time. */
static void make_room(struct shadow_lane *l)
{
    unsigned n = 0;

    for (unsigned i = 0; i < l->n; i += 2) {
        l->v[n] = l->v[i];
        if (i + 1 < l->n)
            l->v[n].n += l->v[i + 1].n;
        n++;
    }
    l->wide_ms = l->wide_ms > 0 ? 2 * l->wide_ms : (l->v[l->n - 1].at_ms - l->v[0].at_ms) / SHADOW_BUCKETS + 1;
    l->n = n;
}

void shadow_join(struct shadow *s, unsigned lane, uint64_t n, msec_t now_ms)
{
    struct shadow_lane *l = &s->lane[lane];

    assert(lane < LANES_MAX);
    if (n == 0)
        return;
    if (l->n == 0)
        l->wide_ms = 0;
    if (l->n > 0 && now_ms - l->v[l->n - 1].at_ms < ms_max(l->wide_ms, 1)) {
        l->v[l->n - 1].n += n;
    } else {
        if (l->n == SHADOW_BUCKETS)
            make_room(l);
        l->v[l->n++] = (struct shadow_bucket){ now_ms, n };
    }
    l->waiting += n;
    s->came += n;
}

void shadow_release(struct shadow *s, unsigned lane, uint64_t n, msec_t now_ms)
{
    struct shadow_lane *l = &s->lane[lane];
    unsigned over = 0;

    assert(lane < LANES_MAX && n <= l->waiting);
    l->waiting -= n;
    s->went += n;
    while (n > 0) {
        struct shadow_bucket *b = &l->v[over];
        uint64_t k = u64_min(n, b->n);
        msec_t wait_ms = now_ms - b->at_ms;

        if (wait_ms > SHADOW_AT_ONCE_MS)
            s->would_wait += k;
        s->longest_ms = ms_max(s->longest_ms, wait_ms);
        b->n -= k;
        n -= k;
        over += b->n == 0;
    }
    memmove(l->v, l->v + over, (l->n - over) * sizeof(*l->v));
    l->n -= over;
}

uint64_t shadow_waiting(const struct shadow *s)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < LANES_MAX; i++)
        n += s->lane[i].waiting;
    return n;
}

msec_t shadow_wait_ms(const struct shadow *s, msec_t now_ms)
{
    msec_t ms = 0;

    for (unsigned i = 0; i < LANES_MAX; i++)
        if (s->lane[i].n > 0)
            ms = ms_max(ms, now_ms - s->lane[i].v[0].at_ms);
    return ms;
}

void shadow_second(struct mqueue *q)
{
    if (!q->def.shadow) {
        free(q->shadow);
        q->shadow = NULL;
    } else if (q->shadow == NULL) {
        q->shadow = calloc(1, sizeof(*q->shadow));
        for (unsigned i = 0; q->shadow != NULL && i < LANES_MAX; i++)
            q->shadow->joined[i] = i < q->n_lanes ? q->lane[i].came_ever : 0;
    } else {
        for (unsigned i = q->n_lanes; i < LANES_MAX; i++) /* lanes that have gone */
            q->shadow->line.lane[i].n = 0, q->shadow->line.lane[i].waiting = 0;
    }
}

bool shadow_is_busy(const struct mqueue *q)
{
    return q->shadow != NULL && shadow_waiting(&q->shadow->line) > 0;
}

/* People who are inside, and would be if those of the line were not. */
static uint64_t free_slots(const struct mng *m, const struct mqueue *q)
{
    uint64_t inside = slots_inside(m, q), line = shadow_waiting(&q->shadow->line);
    uint64_t most = (uint64_t)q->def.max_active, really = inside > line ? inside - line : 0;

    return q->def.mode == MODE_RATE ? UINT64_MAX : really < most ? most - really : 0;
}

/* Joins since the last tick. */
static void come(struct mng *m, struct mqueue *q)
{
    struct shadow_play *s = q->shadow;

    for (unsigned i = 0; i < q->n_lanes; i++) {
        shadow_join(&s->line, i, q->lane[i].came_ever - s->joined[i], m->now_ms);
        s->joined[i] = q->lane[i].came_ever;
    }
}

void shadow_tick(struct mng *m, struct mqueue *q, struct release_in *in)
{
    struct shadow_play *s = q->shadow;
    struct release_out out = { 0 };

    come(m, q);
    in->free = false;
    in->budget = NULL;
    in->slots = free_slots(m, q);
    for (unsigned i = 0; i < q->n_lanes; i++)
        in->waiting[i] = s->line.lane[i].waiting;
    release_tick(&s->rel, in, &out);
    for (unsigned i = 0; i < q->n_lanes; i++)
        shadow_release(&s->line, i, out.n[i], m->now_ms);
}
