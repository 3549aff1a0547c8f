/* draw.c: the draw of a segment of early ones (common/ticket/draw.h, queuemng/chain/chain.h).
 *
 *   number   in tokens, passes, and whatever else leaves this node: the order of arrival
 *   place    the slot, and the number in everything that is in here (sessions, subjects,
 *            marks, the journal): the order that was drawn
 *
 * So the line of such a segment is like any other's, as if its people had come in the order
 * of their places. Numbers become places where a token comes in (segtab_find), and numbers
 * again where a ticket's name goes out (segtab_outside). The table is made from seed and
 * count, wherever it is needed. */
#include "segment/tickets/draw.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/directory/exchange.h"

#define LOG_MODULE "draw"
#define ALIVE      0x100u

/* ---- the line: slot by slot to another place, dead ones, too, so that what each of them died of
 * is still known ---- */

/* The contents of each slot; slots that were never given are DEAD_UNKNOWN. */
static uint16_t *read_slots(const struct segq *q, uint32_t n)
{
    uint16_t *v = calloc(n, sizeof(*v));

    for (uint32_t i = 0; v != NULL && i < n && i < q->end; i++) {
        const struct block *b = q->block[i >> BLOCK_SHIFT];
        uint32_t slot = i & (BLOCK_SLOTS - 1);

        if (b == NULL)
            v[i] = q->died_of[i >> BLOCK_SHIFT];
        else
            v[i] = (uint16_t)(b->idle[slot] | (block_is_alive(b, slot) ? ALIVE : 0));
    }
    return v;
}

/* All blocks are there; what is taken goes on a list first, so that all or none is. */
static int fill_blocks(struct segq *q, uint32_t n)
{
    uint32_t blocks = (n + BLOCK_SLOTS - 1) >> BLOCK_SHIFT, missing = blocks - q->n_blocks;

    for (uint32_t b = 0; b < q->n_blocks; b++)
        missing += q->block[b] == NULL;
    if (segq_reserve(q, missing << BLOCK_SHIFT) < 0)
        return SQ_ENOMEM;
    for (uint32_t b = 0; b < blocks; b++) {
        if (b < q->n_blocks && q->block[b] != NULL)
            continue;
        q->block[b] = q->reserve;
        q->reserve = q->reserve->next;
        q->n_reserve--;
    }
    q->n_blocks = blocks;
    segq_unreserve(q);
    return 0;
}

static void write_block(struct segq *q, uint32_t b, uint32_t n, const uint16_t *slots,
                        const uint32_t *number)
{
    struct block *k = q->block[b];

    memset(k->alive, 0, sizeof(k->alive));
    for (uint32_t i = 0, at = b << BLOCK_SHIFT; i < BLOCK_SLOTS && at < n; i++, at++) {
        k->idle[i] = (uint8_t)slots[number[at]];
        if (slots[number[at]] & ALIVE)
            k->alive[i >> 6] |= 1ull << (i & 63);
    }
    q->sub[b] = bits512_subs(k->alive);
    q->count[b] = (uint16_t)bits512_count(k->alive);
    q->died_of[b] = DEAD_UNKNOWN;
}

int segq_permute(struct segq *q, uint32_t n, const uint32_t *number)
{
    uint16_t *slots = read_slots(q, n);

    if (slots == NULL || fill_blocks(q, n) < 0) {
        free(slots);
        return SQ_ENOMEM;
    }
    q->end = n;
    q->head = 0;
    for (uint32_t b = 0; b < q->n_blocks; b++)
        write_block(q, b, n, slots, number);
    free(slots);
    segq_free_dead(q);
    return 0;
}

/* ---- the segment -------------------------------------------------------------------- */

/* The subjects under their new names, or SQ_ENOMEM. */
static int rename_subjects(const struct seg *g, const struct draw *d, struct subjects *out)
{
    const struct subject *x;
    int rc = 0;

    subjects_init(out);
    for (uint32_t i = 0; rc == 0 && (x = subjects_next(&g->b.subjects, &i)) != NULL;) {
        struct subject y = *x;

        y.id.number = draw_place(d, y.id.number);
        rc = subjects_add(out, &y);
    }
    if (rc < 0)
        subjects_fini(out);
    return rc;
}

/* The contacts, likewise. */
static int rename_contacts(const struct seg *g, const struct draw *d, struct contacts *out)
{
    const struct contact *x;
    int rc = 0;

    contacts_init(out);
    for (uint32_t i = 0; rc == 0 && (x = contacts_next(&g->b.contacts, &i)) != NULL;) {
        struct contact y = *x;

        y.id.number = draw_place(d, y.id.number);
        rc = contacts_put(out, &y);
    }
    if (rc < 0)
        contacts_fini(out);
    return rc;
}

int segtab_draw_now(struct seg *g, const struct seg_draw *d)
{
    struct draw *table = d->n > 0 ? draw_new(g->b.id, d->n, d->seed) : NULL;
    struct subjects named;
    struct contacts told;
    int rc = d->n > 0 && table == NULL ? SQ_ENOMEM : 0;

    assert(g->draw == NULL && !g->b.q.rebuilding);
    if (rc == 0 && table != NULL)
        rc = rename_subjects(g, table, &named);
    if (rc == 0 && table != NULL) {
        rc = rename_contacts(g, table, &told);
        if (rc == 0 && (rc = segq_permute(&g->b.q, d->n, table->number)) < 0)
            contacts_fini(&told);
        if (rc < 0)
            subjects_fini(&named);
    }
    if (rc < 0) {
        draw_free(table);
        return rc;
    }
    if (table != NULL) {
        named.watch = g->b.subjects.watch;
        g->b.subjects.watch = (struct subject_watch) { 0 }; /* no watch: nobody comes or goes */
        subjects_fini(&g->b.subjects);
        g->b.subjects = named;
        contacts_fini(&g->b.contacts);
        g->b.contacts = told;
        g->b.joined = d->n;
    }
    g->draw = table;
    g->early = false;
    return 0;
}

int segtab_draw_was(struct segtab *t, struct seg *g, const struct seg_draw *d)
{
    if (d->n == 0)
        return 0;
    g->draw = draw_new(g->b.id, d->n, d->seed);
    if (g->draw == NULL)
        return SQ_ENOMEM;
    g->early = false;
    if (!t->replaying)
        segtab_log_draw(t, g);
    return 0;
}

/* Some of them are in already: no manager that draws lets them in. */
static bool has_begun(const struct seg *g)
{
    return g->b.q.popped_end > 0 || g->b.released.idx.n > 0 || g->b.relocs.n > 0;
}

void segtab_draw(struct segtab *t, struct seg *g, const struct seg_draw *d)
{
    struct jrec r = { .kind = JREC_DRAW, .seg = g->b.id };
    struct seg_draw use = *d;

    if (t->hold || !g->b.q.sealed || g->b.q.rebuilding || g->out != NULL || g->in != NULL)
        return; /* said again later */
    if (has_begun(g) || d->n < g->b.q.end || d->n > g->capacity) {
        log_error("event=draw_failed seg=%" PRIu64 " queue=%s count=%" PRIu32 " joined=%" PRIu32
                  " released=%" PRIu64 " note=\"its tickets keep the order of arrival\"",
                  g->b.id, g->queue->name, d->n, g->b.q.end, g->popped);
        use.n = 0;
    }
    if (segtab_draw_now(g, &use) < 0) {
        log_error("event=no_memory what=draw seg=%" PRIu64 " queue=%s", g->b.id, g->queue->name);
        return;
    }
    r.draw.n = use.n;
    memcpy(r.draw.seed, use.seed, sizeof(r.draw.seed));
    segtab_log(t, &r);
    segtab_dir_again(t, g);
    log_info("event=draw_applied seg=%" PRIu64 " queue=%s count=%" PRIu32 " waiting=%" PRIu32,
             g->b.id, g->queue->name, use.n, g->b.q.waiting);
    t->urgent = true;
    t->replica.now = true;
    segtab_touch(t, g);
}
