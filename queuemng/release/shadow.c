/* shadow.c: see shadow.h. */
#include "queuemng/release/shadow.h"

#include <stdlib.h>

#include "queuemng/state/queue.h"
#include "queuemng/state/slots.h"
#include "queuemng/state/state.h"

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
