/* digest.c: the whole state as one number. */
#include "segment/restore/digest.h"

#include <string.h>

#include "segment/core/segment.h"

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
    return mix(h, sum);
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
