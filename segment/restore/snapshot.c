/* snapshot.c: the whole state as records, a few segments at a time.
 *
 * Segments that are in the present snapshot are at the back of the list, the others in
 * front. One that is opened meanwhile has its OPEN record and is not in it. */
#include "segment/restore/snapshot.h"

#include <assert.h>
#include <string.h>

#include "segment/core/recording.h"
#include "segment/core/state.h"

/* ---- one segment ------------------------------------------------------------------ */

static void snap_block(struct segtab *t, const struct seg *g, uint32_t b)
{
    struct jrec r = { .kind = JREC_BLOCK, .seg = g->b.id };
    const struct block *k = g->b.q.block[b];
    uint32_t n = segq_given(&g->b.q, b);

    r.block.index = b;
    memcpy(r.block.alive, k->alive, sizeof(k->alive));
    for (uint32_t i = 0; i < n; i++) {
        if (block_is_alive(k, i))
            continue;
        r.block.why[0][i / 64] |= (uint64_t)(k->idle[i] & 1) << (i % 64);
        r.block.why[1][i / 64] |= (uint64_t)(k->idle[i] >> 1 & 1) << (i % 64);
    }
    segtab_log(t, &r);
}

/* Freed blocks that died of the same are one record. */
static void snap_line(struct segtab *t, const struct seg *g)
{
    const struct segq *q = &g->b.q;
    struct jrec r = { .kind = JREC_FREED_BLOCKS, .seg = g->b.id };

    for (uint32_t b = 0; b < q->n_blocks;) {
        uint32_t first = b;

        if (q->block[b] != NULL) {
            snap_block(t, g, b++);
            continue;
        }
        while (b < q->n_blocks && q->block[b] == NULL && q->died_of[b] == q->died_of[first])
            b++;
        r.run = (struct jrec_run) { first, b - first, q->died_of[first] };
        segtab_log(t, &r);
    }
}

static void snap_session(struct segtab *t, const struct seg *g, const struct session *x)
{
    struct jrec r = { .kind = JREC_SESSION, .seg = g->b.id };

    r.session =
        (struct jrec_session) { x->id, x->state, x->reason, x->released_at_ms };
    segtab_log(t, &r);
    segtab_log_extend(t, g, x->id, x->until_s);
    segtab_log_used(t, g, x->id, session_has_use(x->state) ? x->used : 0);
}

/* The returning come first, in their order. */
static void snap_people(struct segtab *t, const struct seg *g)
{
    const struct sessions *s = &g->b.released;
    const struct session *x = sessions_first_returning(s);
    const struct subject *u;

    for (; x != NULL; x = sessions_next_returning(s, x))
        snap_session(t, g, x);
    for (uint32_t i = 0; (x = sessions_next(s, &i)) != NULL;)
        if (x->state != SESSION_RETURNING)
            snap_session(t, g, x);
    for (uint32_t i = 0; (u = subjects_next(&g->b.subjects, &i)) != NULL;)
        segtab_log_subject(t, g, u);
}

static void snap_seg(struct segtab *t, const struct seg *g)
{
    struct jrec r = { .kind = JREC_SEG, .seg = g->b.id };
    const struct segq *q = &g->b.q;

    r.segment = (struct jrec_segment) {
        .open = { g->queue->id, g->lane, q->rebuilding ? OPEN_REBUILD : OPEN_TAIL, g->capacity,
                  g->ahead },
        .unit_ms = g->unit_ms,
        .joined = g->b.joined,
        .end = q->end,
        .popped_end = q->popped_end,
        .last_n = g->last_n,
        .sealed = q->sealed,
        .next = g->next,
        .last_tick = g->last_tick,
        .popped = g->popped,
        .no_shows = g->no_shows,
        .expired = g->expired,
        .left = g->left,
    };
    segtab_log(t, &r);
    segtab_log_draw(t, g);
    if (q->rebuilding)
        segtab_log_rebuild(t, g);
    segtab_log_unstored(t, g);
    if (g->unused != 0) {
        r = (struct jrec) { .kind = JREC_ASIDE, .seg = g->b.id, .run = { g->unused, 0, 0 } };
        segtab_log(t, &r);
    }
    snap_line(t, g);
    snap_people(t, g);
    for (uint32_t i = 0; i < g->b.relocs.n; i++)
        segtab_log_reloc(t, g, g->b.relocs.v[i]);
    if (g->out != NULL && g->out->stage == STAGE_COPYING &&
        xfer_out_is_final(&g->out->out))
        segtab_log_final(t, g, g->out->id, g->out->to);
    segtab_log_set(t, JREC_SEG_END, g->b.id, 0);
}

/* ---- all -------------------------------------------------------------------------- */

/* Not if it is here again, or was and has been removed since: that alias is over. */
static bool is_alias(const struct segtab *t, uint32_t i)
{
    return map_get(&t->locations, t->moved[i].id) == ((uint64_t)i << 2 | AT_MOVED);
}

static void snap_begin(struct segtab *t)
{
    uint64_t key, val;
    uint32_t i = t->n_moved > SEGTAB_MOVED_MAX ? t->n_moved - SEGTAB_MOVED_MAX : 0;

    t->snap_no++;
    segtab_log_set(t, JREC_SNAP, 0, t->segs.n);
    segtab_log_epoch(t);
    for (size_t k = 0; (k = map_next(&t->queues, k, &key, &val)) != 0;)
        segtab_log_rules(t, (const struct queue *)(uintptr_t)val);
    for (; i < t->n_moved; i++) {
        const struct moved *m = &t->moved[i % SEGTAB_MOVED_MAX];

        if (is_alias(t, i % SEGTAB_MOVED_MAX))
            segtab_log_set(t, JREC_ALIAS, m->id, m->to);
    }
}

static struct seg *next_seg(const struct segtab *t)
{
    struct seg *g = list_entry(list_first(&t->segs), struct seg, node);

    return g != NULL && g->snap_no != t->snap_no ? g : NULL;
}

/* To the snapshot, and to the log that it is there. */
static void put_seg(struct segtab *t, struct seg *g)
{
    void (*put)(void *ctx, const struct jrec *r) = t->snap;

    assert(g->snap_no != t->snap_no);
    snap_seg(t, g);
    g->snap_no = t->snap_no;
    list_remove(&t->segs, &g->node);
    list_push_back(&t->segs, &g->node);
    t->snap = NULL;
    segtab_log_set(t, JREC_MARK, g->b.id, 0);
    t->snap = put;
}

bool segtab_snapshot(struct segtab *t, bool begin, uint64_t n_blocks,
                     void (*put)(void *ctx, const struct jrec *r), void *ctx)
{
    uint64_t n = 0;
    struct seg *g;
    bool more;

    assert(t->snap == NULL && !t->replaying && put != NULL);
    t->snap = put;
    t->snap_ctx = ctx;
    if (begin)
        snap_begin(t);
    for (; n < n_blocks && (g = next_seg(t)) != NULL; n += 1 + g->b.q.n_blocks)
        put_seg(t, g);
    more = next_seg(t) != NULL;
    if (!more)
        segtab_log_set(t, JREC_SNAP_END, 0, 0);
    t->snap = NULL;
    if (!more)
        segtab_log_set(t, JREC_SNAP_END, 0, 0);
    return more;
}
