/* count.c: figures and lists of what is here. */
#include "segment/node/count.h"

#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/node/report.h"

static void count_dir(const struct dirs *d, struct segtab_counts *c)
{
    c->dir_members = d->n;
    c->dir_entries = d->own.n;
    c->dir_complete = directory_is_complete(&d->own);
    c->dir_busy = d->n_busy;
    c->dir_exists = d->n_exists;
}

void segtab_count(const struct segtab *t, struct segtab_counts *c)
{
    *c = t->n;
    c->segments = t->segs.n;
    c->blocks = t->pool.n_blocks;
    c->tickets = t->pool.n_blocks * BLOCK_SLOTS;
    c->max_tickets = segtab_max_blocks(&t->o) * BLOCK_SLOTS;
    c->core_bytes = block_pool_bytes(&t->pool);
    c->epoch = t->epoch;
    c->service_ms = (uint64_t)t->service_ms;
    count_dir(&t->dir, c);
    c->waiting = c->ready = c->active = c->returning = c->rebuilding = 0;
    each_seg (t, g) {
        const struct sessions *r = &g->b.released;

        c->rebuilding += g->b.q.rebuilding;
        c->waiting += g->b.q.waiting;
        c->ready += r->n[SESSION_READY];
        c->active += r->n[SESSION_ADMITTED];
        c->returning += r->n[SESSION_RETURNING];
        c->core_bytes += g->b.q.cap_blocks * 15;
    }
}

void segtab_each_waiting(const struct segtab *t, void (*fn)(void *ctx, seg_id host,
                         seg_id seg, uint32_t number), void *ctx)
{
    each_seg (t, g) {
        const struct contents *b = &g->b;

        for (uint32_t n = segq_next(&b->q, 0); n != SEGQ_NONE;
             n = segq_next(&b->q, n + 1)) {
            struct ticket_id id = segtab_outside(t, contents_ticket(b, n));

            fn(ctx, b->id, id.seg, id.number);
        }
    }
}

void segtab_each_seg(const struct segtab *t, void (*fn)(void *ctx,
                     const struct seg_status *s), void *ctx)
{
    each_seg (t, g) {
        struct seg_status s;

        segtab_status(g, &s);
        fn(ctx, &s);
    }
}
