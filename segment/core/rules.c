/* rules.c: the rules of queues. */
#include "segment/core/rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "segment/core/recording.h"
#include "segment/core/state.h"

static struct queue *queue_new(struct segtab *t, queue_id id)
{
    struct queue *q = calloc(1, sizeof(*q));

    if (q == NULL || map_set_ptr(&t->queues, id, q) < 0) {
        free(q);
        return NULL;
    }
    q->id = id;
    list_init(&q->segs);
    for (unsigned i = 0; i < LANES_MAX; i++)
        q->pace[i] = (struct pace) { .min_ms = 1000, .max_ms = 30000, .us_per_place = 0 };
    return q;
}

struct queue *segtab_queue(struct segtab *t, queue_id id, bool make)
{
    struct queue *q = map_get_ptr(&t->queues, id);

    return q != NULL || !make ? q : queue_new(t, id);
}

void segtab_queue_free(struct queue *q)
{
    assert(q->segs.n == 0);
    free(q->name);
    free(q->issuer);
    for (uint32_t i = 0; i < LANES_MAX; i++)
        free(q->lanes[i]);
    free(q);
}

/* Keeps the old text if there is no memory; the rules come again with every change. */
static bool set_text(char **to, const char *from)
{
    char *s;

    if (*to != NULL && strcmp(*to, from) == 0)
        return false;
    s = strdup(from);
    if (s == NULL)
        return false;
    free(*to);
    *to = s;
    return true;
}

static bool set_texts(struct queue *q, const struct msg_rules *m)
{
    bool changed = set_text(&q->name, m->name != NULL ? m->name : "");

    changed |= set_text(&q->issuer, m->issuer != NULL ? m->issuer : "");
    for (uint32_t i = 0; i < LANES_MAX; i++)
        changed |= set_text(&q->lanes[i],
                            i < m->n_lanes && m->lanes[i] != NULL ? m->lanes[i] : "");
    return changed;
}

/* Deadlines in the line stay as they were made until their tickets poll again. */
static void keep_idle(const struct segtab *t, struct queue *q, const struct msg_rules *m)
{
    bool was = t->service_ms < q->idle_was_until_ms;
    uint32_t longest = 0;

    for (unsigned i = 0; i < CLIENT_NCLASSES; i++) {
        uint32_t ms = was ? q->idle_was_ms[i] : q->idle_ms[i];

        q->idle_was_ms[i] = ms < m->idle_ms[i] ? ms : m->idle_ms[i];
        longest = ms > longest ? ms : longest;
        longest = m->idle_ms[i] > longest ? m->idle_ms[i] : longest;
    }
    for (unsigned i = 0; i < LANES_MAX; i++)
        longest = q->pace[i].max_ms > longest ? q->pace[i].max_ms : longest;
    q->idle_was_until_ms = t->service_ms + 2 * (msec_t)longest;
}

/* A pass that is out there is good for as long as it says, and so is its record. Lowered
 * twice, those between are taken for the older ones: too long is safe. */
static void keep_ttl(const struct segtab *t, struct queue *q, uint32_t ttl_s)
{
    bool out = q->ttl_until_ms + q->ttl_was_s * 1000ll > t->now.wall_ms;

    if (ttl_s >= q->pass_ttl_s)
        return;
    if (!out || q->ttl_was_s < q->pass_ttl_s)
        q->ttl_was_s = q->pass_ttl_s;
    q->ttl_until_ms = t->now.wall_ms;
}

/* Assumes the worst: the moment of lowering was not written down. */
void segtab_rules_replayed(struct segtab *t)
{
    uint64_t key, val;

    for (size_t k = 0; (k = map_next(&t->queues, k, &key, &val)) != 0;)
        ((struct queue *)(uintptr_t)val)->ttl_until_ms = t->now.wall_ms;
}

int segtab_set_rules(struct segtab *t, const struct msg_rules *m, bool *changed)
{
    struct queue *q = segtab_queue(t, m->queue, true);

    if (q == NULL)
        return SQ_ENOMEM;
    *changed = set_texts(q, m);
    *changed |= memcmp(q->idle_ms, m->idle_ms, sizeof(q->idle_ms)) != 0 ||
                q->n_lanes != m->n_lanes;
#define X(f) *changed |= q->f != m->f;
    NODE_RULES(X)
#undef X
    if (q->n_lanes != 0 && memcmp(q->idle_ms, m->idle_ms, sizeof(q->idle_ms)) != 0)
        keep_idle(t, q, m);
    memcpy(q->idle_ms, m->idle_ms, sizeof(q->idle_ms));
    q->n_lanes = m->n_lanes;
    q->session_hold_s = m->session_hold_s;
    keep_ttl(t, q, m->pass_ttl_s);
#define X(f) q->f = m->f;
    NODE_RULES(X)
#undef X
    each_queue_seg (q, g)
        segtab_fit_unit(t, g);
    return 0;
}

/* ---- the unit of idle deadlines --------------------------------------------------- */

#define MARK_MORE 11 /* a mark says an eleventh more than was told, at most (pace_class()) */

struct rescale {
    uint8_t old_now, new_now;
    uint32_t old_ms, new_ms;
};

static uint8_t rescale(void *ctx, uint8_t deadline)
{
    const struct rescale *r = ctx;
    uint32_t left = idle_left(deadline, r->old_now);
    uint32_t units = (left * r->old_ms + r->new_ms - 1) / r->new_ms;

    if (left > 0)
        units++;
    return (uint8_t)(r->new_now + (units < IDLE_HORIZON ? units : IDLE_HORIZON));
}

/* A unit only grows: a finer one could not hold what is left to those already told. */
void segtab_fit_unit(struct segtab *t, struct seg *g)
{
    const struct queue *q = g->queue;
    uint64_t idle = queue_longest_idle_ms(q);
    uint64_t told = pace_longest_ms(&q->pace[g->lane]) + 1ull, need;
    struct rescale r = { .old_ms = g->unit_ms };

    told = u64_max(told, t->o.retry_ms);
    told += told / MARK_MORE + 1 + SEEN_LATE_MS;
    need = u64_min(told + idle, UINT32_MAX / 2);
    if ((g->unit_ms == 0 || need > 120ull * g->unit_ms) && g->out == NULL &&
        !t->replaying) {
        r.old_now = g->unit_ms > 0 ? segtab_unit(t, g) : 0;
        g->unit_ms = (uint32_t)u64_max(SEGTAB_UNIT_MS, (need + 99) / 100);
        g->per_unit = 1.0 / g->unit_ms;
        r.new_ms = g->unit_ms;
        r.new_now = segtab_unit(t, g);
        if (r.old_ms > 0)
            segq_remark(&g->b.q, rescale, &r);
        g->swept_unit = (uint8_t)(r.new_now - 1);
        segtab_log_set(t, JREC_UNIT, g->b.id, g->unit_ms);
    }
    need = 120ull * g->unit_ms;
    idle += SEEN_LATE_MS;
    told = need > idle ? (need - idle) / (MARK_MORE + 1) * MARK_MORE : 0;
    g->told_max_ms = (uint32_t)u64_max(told, t->o.retry_ms);
}
