/* snapshot.c: the whole state as records, a few segments at a time.
 *
 * Segments that are in the present snapshot are at the back of the list, the others in
 * front. One that is opened meanwhile has its OPEN record and is not in it. */
#include "segment/restore/snapshot.h"

#include <assert.h>
#include <string.h>

#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/directory/exchange.h"

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
    const struct contact *c;

    for (; x != NULL; x = sessions_next_returning(s, x))
        snap_session(t, g, x);
    for (uint32_t i = 0; (x = sessions_next(s, &i)) != NULL;)
        if (x->state != SESSION_RETURNING)
            snap_session(t, g, x);
    for (uint32_t i = 0; (u = subjects_next(&g->b.subjects, &i)) != NULL;)
        segtab_log_subject(t, g, u);
    for (uint32_t i = 0; (c = contacts_next(&g->b.contacts, &i)) != NULL;)
        segtab_log_contact(t, g, JREC_CONTACT, c);
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
    segtab_dir_to_end(t, g);
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

/* ---- the whole state as one number --------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 29;
}

static uint64_t mix_text(uint64_t h, const char *p, size_t n)
{
    h = mix(h, n);
    for (size_t i = 0; i < n; i++)
        h = mix(h, (uint8_t)p[i]);
    return h;
}

static uint64_t digest_line(const struct segq *q)
{
    uint64_t h = mix(mix(q->end, q->popped_end), q->waiting * 2ull + q->sealed);

    for (uint32_t b = 0; b < q->n_blocks; b++) {
        const struct block *k = q->block[b];

        h = mix(h, k == NULL ? 100u + q->died_of[b] : 0);
        for (uint32_t i = 0; k != NULL && i < segq_given(q, b); i++)
            h = mix(h, block_is_alive(k, i) ? 99 : k->idle[i]);
    }
    return h;
}

static uint64_t digest_contacts(const struct contacts *s)
{
    const struct contact *c;
    uint64_t sum = 0;

    for (uint32_t i = 0; (c = contacts_next(s, &i)) != NULL;)
        sum += mix_text(mix(mix(mix(c->id.seg, c->id.number), c->said), c->claim_ms),
                        (const char *)c->sealed, c->n);
    return sum;
}

static uint64_t digest_people(const struct seg *g)
{
    uint64_t h = 0, sum = 0;
    const struct session *x;
    const struct subject *u;

    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;)
        sum += mix(mix(mix(mix(x->id.seg, x->id.number), x->state * 16u + x->reason),
                       (uint64_t)x->released_at_ms),
                   (uint64_t)x->until_s ^ (session_has_use(x->state) ? x->used : 0));
    for (x = sessions_first_returning(&g->b.released); x != NULL;
         x = sessions_next_returning(&g->b.released, x))
        h = mix(mix(h, x->id.seg), x->id.number);
    for (uint32_t i = 0; (u = subjects_next(&g->b.subjects, &i)) != NULL;)
        /* no record says that a poll forgot a key */
        if (!subject_is_key(u->text, u->len) || subject_head(u->text, u->len) > 0)
            sum += mix_text(mix(mix(mix(u->id.seg, u->id.number), u->hash),
                                u->issued_s * 4ull + u->client),
                            u->text, u->len);
    return mix(h, sum + digest_contacts(&g->b.contacts));
}

static uint64_t digest_relocs(const struct seg *g)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < g->b.relocs.n; i++) {
        const struct reloc *r = g->b.relocs.v[i];
        uint64_t h = mix(mix(r->seg, r->base), r->bits);

        for (uint32_t w = 0; w < reloc_words(r->bits); w++)
            h = mix(h, r->alive[w]);
        sum += mix(h, r->host == g);
    }
    return sum;
}

static uint64_t digest_marks(const struct seg *g)
{
    uint64_t h = mix(g->b.q.rebuilding ? mix(g->mark_end, g->for_ms) : 0, g->unstored.held);

    for (uint32_t i = 0; i < g->unstored.n; i++) {
        const struct mark_row *r = &g->unstored.v[i];

        h = mix(mix(mix(h, r->seg), r->from * 2ull + r->again), r->end);
        h = mix(h, (uint64_t)r->at_ms);
    }
    return h;
}

static uint64_t digest_seg(const struct seg *g)
{
    uint64_t final = seg_is_fenced(g) && xfer_out_is_final(&g->out->out)
                         ? mix(g->out->id, g->out->to)
                         : 0;
    const uint64_t v[] = { g->b.id,     g->b.joined, g->queue->id, g->lane,
                           g->capacity, g->next,     g->ahead,     g->unit_ms,
                           g->last_tick, g->last_n,  g->popped,    g->no_shows,
                           g->expired,  g->left,     final,       g->unused };
    uint64_t h = mix(digest_line(&g->b.q), digest_people(g));

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        h = mix(h, v[i]);
    h = mix(mix(h, g->early), g->early ? (uint64_t)g->closes_ms : 0);
    if (g->draw != NULL)
        h = mix_text(h, (const char *)g->draw->seed, DRAW_SEED) + g->draw->count;
    return mix(mix(h, digest_marks(g)), digest_relocs(g));
}

static uint64_t digest_queue(const struct queue *q)
{
    uint64_t h = q->id;

#define X(f) h = mix(h, q->f);
    NODE_RULES(X)
#undef X
    for (unsigned i = 0; i < CLIENT_NCLASSES; i++)
        h = mix(h, q->idle_ms[i]);
    h = mix_text(mix_text(h, q->name, strlen(q->name)), q->issuer, strlen(q->issuer));
    for (uint32_t i = 0; i < q->n_lanes; i++)
        h = mix_text(h, q->lanes[i], strlen(q->lanes[i]));
    return h;
}

/* Rules without a segment come again with the next one: they do not count. */
uint64_t segtab_digest(const struct segtab *t)
{
    uint64_t key, val, sum = 0;
    uint64_t h = mix_text(mix(t->epoch, t->store), t->manager_name, strlen(t->manager_name));

    for (size_t i = 0; (i = map_next(&t->locations, i, &key, &val)) != 0;)
        sum += mix(mix(key, val & 3), (val & 3) == AT_MOVED ? t->moved[val >> 2].to : 0);
    each_seg (t, g) {
        sum += mix(digest_seg(g), digest_queue(g->queue));
    }
    return mix(h, sum);
}
