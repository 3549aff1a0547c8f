/* waiting.h: the answer to a waiting ticket: its position, when to poll again, and its idle
 * deadline. Inline: polls and joins need it a million times a second. */
#ifndef SEGQ_SEG_TICKETS_WAITING_H
#define SEGQ_SEG_TICKETS_WAITING_H

#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"

/* An idle deadline: not before idle time and told interval are over (ms), and a router has said
 * who polled until then. */
static inline uint8_t deadline(const struct segtab *t, const struct seg *g, uint32_t ms)
{
    uint32_t units = (uint32_t)((ms + SEEN_LATE_MS) * g->per_unit) + 2;

    return (uint8_t)(segtab_unit(t, g) + (units < IDLE_HORIZON ? units : IDLE_HORIZON));
}

static inline uint32_t idle_ms(const struct seg *g, unsigned client)
{
    return g->queue->idle_ms[client < CLIENT_NCLASSES ? client : CLIENT_GAME];
}

static inline uint8_t class_bit(unsigned client)
{
    return (uint8_t)(1u << (client < CLIENT_NCLASSES ? client : CLIENT_GAME));
}

static inline uint32_t told_ms(const struct segtab *t, const struct seg *g,
                               uint64_t position, uint32_t number)
{
    uint32_t salt = number ^ (uint32_t)t->now.now_ms;
    uint32_t ms = pace_jittered_ms(&g->queue->pace[g->lane], position, salt);

    return ms < g->told_max_ms ? ms : g->told_max_ms;
}

/* 0: not known. What is released and not stored may yet wait again: it counts. */
static inline uint64_t segtab_position(const struct seg *g, uint32_t slot)
{
    if (SQ_UNLIKELY(g->b.q.rebuilding || g->ahead == AHEAD_UNKNOWN || g->early))
        return 0;
    return g->ahead + segq_rank(&g->b.q, slot) + g->unstored.held + 1;
}

static inline enum no_place no_place(const struct seg *g)
{
    return g->early ? NO_PLACE_EARLY : NO_PLACE_NOW;
}

/* Stands for an unknown position when the interval is chosen: in a segment under rebuild the
 * most tickets that can be before it; else one segment's worth before this segment. */
static inline uint64_t far_position(const struct seg *g, uint32_t slot)
{
    if (g->b.q.rebuilding)
        return slot >= g->mark_end ? slot - g->mark_end + 1ull : 1;
    return (uint64_t)g->capacity + segq_rank(&g->b.q, slot) + 1;
}

/* A waiting ticket was polled, and told to come again after `told` ms. The later deadline
 * counts: what routers say comes late, and not in order. */
static inline void segtab_polled(struct segtab *t, const struct location *s, unsigned client,
                                 uint32_t told)
{
    struct seg *g = s->seg;
    uint8_t now = segtab_unit(t, g);
    uint8_t until = deadline(t, g, idle_ms(g, client) + told);

    if (idle_left(until, now) > idle_left(segq_deadline(&g->b.q, s->slot), now))
        segq_mark(&g->b.q, s->slot, until);
    g->classes |= class_bit(client);
    g->polls++;
    if (SQ_UNLIKELY(g->out != NULL))
        xfer_out_touch(&g->out->out, s->slot);
}

static inline void place_waiting(struct segtab *t, const struct location *s, unsigned client,
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
    segtab_polled(t, s, client, a->poll_after_ms);
}

#endif
