/* rules.c: the rules of queues. */
#include "segment/table/rules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "segment/table/unit.h"

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
