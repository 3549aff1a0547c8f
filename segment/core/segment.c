/* segment.c: rules of queues; a segment's life. */
#include "segment/core/segment.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"

#define LOG_MODULE "draw"

/* ---- rules of queues -------------------------------------------------------------- */

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

/* ---- segments --------------------------------------------------------------------- */

uint64_t segtab_max_blocks(const struct segtab_opts *o)
{
    return (o->max_tickets + BLOCK_SLOTS - 1) / BLOCK_SLOTS;
}

struct seg *segtab_seg_new(struct segtab *t, const struct msg_seg_open *m,
                           struct queue *q)
{
    struct seg *g = calloc(1, sizeof(*g));

    assert(m->seg != 0 && q != NULL && m->lane < LANES_MAX);
    if (g == NULL)
        return NULL;
    g->tab = t;
    contents_init(&g->b, m->seg, &t->pool);
    if ((m->kind == OPEN_REBUILD && segq_rebuild(&g->b.q, m->capacity) < 0) ||
        segtab_location_set(t, m->seg, AT_SEG, g) < 0) {
        contents_fini(&g->b);
        free(g);
        return NULL;
    }
    if (m->kind == OPEN_REBUILD)
        g->b.joined = m->capacity;
    g->queue = q;
    g->lane = m->lane;
    g->capacity = m->capacity;
    g->ahead = m->ahead;
    g->ahead_due = AHEAD_UNKNOWN;
    g->snap_no = t->snap_no;
    if (m->kind == OPEN_TARGET)
        segq_seal(&g->b.q);
    segtab_log_open(t, g, m->kind);
    segtab_fit_unit(t, g);
    list_push_back(&t->segs, &g->node);
    list_push_back(&q->segs, &g->queued);
    return g;
}

/* Homes that point elsewhere by now (moved, or absorbed here) stay. The rules of a queue
 * go with its last segment: they come again with the next one. */
void segtab_seg_free(struct segtab *t, struct seg *g)
{
    struct queue *q = g->queue;

    assert(g->out == NULL && g->in == NULL);
    segtab_location_drop(t, g->b.id, g, AT_SEG);
    for (uint32_t i = 0; i < g->b.relocs.n; i++)
        segtab_location_drop(t, g->b.relocs.v[i]->seg, g->b.relocs.v[i], AT_RELOC);
    list_remove(&t->segs, &g->node);
    list_remove(&q->segs, &g->queued);
    if (list_linked(&g->dirty))
        list_remove(&t->dirty, &g->dirty);
    if (list_linked(&g->active))
        list_remove(&t->active, &g->active);
    contents_fini(&g->b);
    marks_clear(&g->unstored);
    draw_free(g->draw);
    free(g->said.died);
    free(g);
    if (q->segs.n == 0 && !t->partial) { /* else: some of them are not read yet */
        map_del(&t->queues, q->id);
        segtab_queue_free(q);
    }
}

/* ---- what a change entails -------------------------------------------------------- */

void segtab_touch(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->dirty))
        list_push_back(&t->dirty, &g->dirty);
}

void segtab_wake(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->active))
        list_push_back(&t->active, &g->active);
}

void segtab_due(struct segtab *t, struct ticket_id id)
{
    if (SQ_LIKELY(t->replica.n_wants == 0))
        return;
    id = segtab_outside(t, id);
    for (uint32_t i = 0; i < t->n_peers; i++)
        wants_due(&t->peers[i].listener.wants, id);
}

void segtab_note_died(struct said_seg *s, uint32_t slot)
{
    if (s->lost)
        return;
    s->lost = s->n_died >= DIED_MAX || !GROW(s->died, s->n_died, s->cap_died, 64);
    if (!s->lost)
        s->died[s->n_died++] = slot;
}

/* ---- closing ---------------------------------------------------------------------- */

static bool closes(const struct seg *g)
{
    return g->early && g->closes_ms != 0 && !g->b.q.sealed;
}

void segtab_close_at(struct segtab *t, struct seg *g, int64_t closes_ms)
{
    g->closes_ms = closes_ms;
    if (closes(g) && (t->close_ms == 0 || closes_ms < t->close_ms))
        t->close_ms = closes_ms;
}

static void close_now(struct segtab *t, struct seg *g)
{
    assert(g->early && !t->replaying);
    segq_seal(&g->b.q);
    g->closed = true;
    segtab_log_set(t, JREC_SEAL, g->b.id, g->next);
    log_info("event=segment_closed seg=%" PRIu64 " queue=%s joined=%" PRIu32, g->b.id,
             g->queue->name, g->b.joined);
    t->urgent = true;
    segtab_touch(t, g);
}

void segtab_close_due(struct segtab *t)
{
    if (t->replaying)
        return;
    t->close_ms = 0;
    each_seg (t, g) {
        if (closes(g) && t->now.wall_ms >= g->closes_ms)
            close_now(t, g);
        else
            segtab_close_at(t, g, g->closes_ms);
    }
}
