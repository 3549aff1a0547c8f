/* recording.c: changes as records. */
#include "segment/core/recording.h"

#include <assert.h>
#include <string.h>

void segtab_log_joins(struct segtab *t)
{
    if (t->joins.run.n == 0)
        return;
    t->o.log(t->o.log_ctx, &t->joins);
    t->joins.run.n = 0;
}

void segtab_log(struct segtab *t, const struct jrec *r)
{
    if (!segtab_logs(t))
        return;
    segtab_log_joins(t);
    assert(r->kind != 0);
    if (t->snap != NULL)
        t->snap(t->snap_ctx, r);
    else
        t->o.log(t->o.log_ctx, r);
}

void segtab_log_set(struct segtab *t, enum jrec_kind k, seg_id seg, uint64_t n)
{
    segtab_log(t, &(struct jrec) { .kind = (uint8_t)k, .seg = seg, .set = { n } });
}

static struct jrec_text text_of(const char *s)
{
    return (struct jrec_text) { s, s != NULL ? (uint32_t)strlen(s) : 0 };
}

void segtab_log_epoch(struct segtab *t)
{
    struct jrec r = { .kind = JREC_EPOCH };

    r.epoch.epoch = t->epoch;
    r.epoch.manager = text_of(t->manager_name);
    segtab_log(t, &r);
    if (t->store != 0)
        segtab_log_set(t, JREC_CLUSTER, 0, t->store);
}

static void log_rules(struct segtab *t, const struct queue *q, uint32_t pass_ttl_s)
{
    struct jrec r = { .kind = JREC_RULES };
    struct jrec_rules *v = &r.rules;

    v->queue = q->id;
    memcpy(v->idle_ms, q->idle_ms, sizeof(v->idle_ms));
#define X(f) v->f = q->f;
    NODE_RULES(X)
#undef X
    v->pass_ttl_s = pass_ttl_s;
    v->n_lanes = q->n_lanes;
    v->name = text_of(q->name);
    v->issuer = text_of(q->issuer);
    for (uint32_t i = 0; i < q->n_lanes; i++)
        v->lanes[i] = text_of(q->lanes[i]);
    segtab_log(t, &r);
}

/* A longer earlier pass_ttl is written first: the replay sees it lowered once more. */
void segtab_log_rules(struct segtab *t, const struct queue *q)
{
    if (q->ttl_was_s > q->pass_ttl_s &&
        q->ttl_until_ms + q->ttl_was_s * 1000ll > t->now.wall_ms)
        log_rules(t, q, q->ttl_was_s);
    log_rules(t, q, q->pass_ttl_s);
}

void segtab_log_open(struct segtab *t, const struct seg *g, uint8_t kind)
{
    struct jrec r = { .kind = JREC_OPEN, .seg = g->b.id };

    r.open =
        (struct jrec_open) { g->queue->id, g->lane, kind, g->capacity, g->ahead };
    segtab_log(t, &r);
}

void segtab_log_draw(struct segtab *t, const struct seg *g)
{
    struct jrec r = { .kind = JREC_DRAW, .seg = g->b.id };

    if (g->early)
        segtab_log_set(t, JREC_EARLY, g->b.id, (uint64_t)g->closes_ms);
    if (g->draw == NULL)
        return;
    r.draw.n = g->draw->count;
    memcpy(r.draw.seed, g->draw->seed, sizeof(r.draw.seed));
    segtab_log(t, &r);
}

/* ---- tickets ---------------------------------------------------------------------- */

void segtab_log_join(struct segtab *t, const struct seg *g, uint32_t number)
{
    struct jrec_run *run = &t->joins.run;

    if (!segtab_logs(t))
        return;
    if (t->joins.seg == g->b.id && run->n > 0 && run->first + run->n == number) {
        run->n++;
        return;
    }
    segtab_log_joins(t);
    t->joins.kind = JREC_JOIN;
    t->joins.seg = g->b.id;
    *run = (struct jrec_run) { .first = number, .n = 1 };
}

void segtab_log_subject(struct segtab *t, const struct seg *g, const struct subject *x)
{
    struct jrec r = { .kind = JREC_SUBJECT, .seg = g->b.id };

    r.subject = (struct jrec_subject) { .id = x->id,
                                        .issued_s = x->issued_s,
                                        .client = x->client,
                                        .hash = x->hash,
                                        .text = { x->text, x->len } };
    segtab_log(t, &r);
}

void segtab_log_contact(struct segtab *t, const struct seg *g, enum jrec_kind k, const struct contact *x)
{
    struct jrec r = { .kind = (uint8_t)k, .seg = g->b.id };

    r.contact = (struct jrec_contact){ .id = x->id, .said = x->said };
    if (k == JREC_CONTACT) {
        r.contact.claim_ms = x->claim_ms;
        r.contact.sealed = (struct jrec_text){ (const char *)x->sealed, x->n };
    }
    segtab_log(t, &r);
}

void segtab_log_drops(struct segtab *t, const struct seg *g, const uint32_t *slot,
                      uint32_t n, enum dead why)
{
    struct jrec r = { .kind = JREC_DROP, .seg = g->b.id };

    if (!segtab_logs(t))
        return;
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && slot[k] == slot[k - 1] + 1;)
            k++;
        r.run = (struct jrec_run) { slot[i], k - i, (uint8_t)why };
        segtab_log(t, &r);
    }
}

static void log_session(struct segtab *t, seg_id seg, struct jrec_session s)
{
    segtab_log(t, &(struct jrec) { .kind = JREC_SESSION, .seg = seg, .session = s });
}

void segtab_log_session(struct segtab *t, const struct seg *g, const struct session *x)
{
    log_session(t, g->b.id, (struct jrec_session) { x->id, x->state, x->reason, 0 });
}

void segtab_log_extend(struct segtab *t, const struct seg *g, struct ticket_id id,
                       int64_t until_s)
{
    struct jrec r = { .kind = JREC_EXTEND, .seg = g->b.id, .extend = { id, until_s } };

    if (until_s != 0)
        segtab_log(t, &r);
}

void segtab_log_used(struct segtab *t, const struct seg *g, struct ticket_id id, uint64_t used)
{
    struct jrec r = { .kind = JREC_USED, .seg = g->b.id, .used = { id, used } };

    if (used != 0)
        segtab_log(t, &r);
}

void segtab_log_entered(struct segtab *t, const struct seg *g, const struct session *x)
{
    struct jrec r = { .kind = JREC_ENTERED, .seg = g->b.id };

    r.released = (struct jrec_released) { x->id.number, 1, x->released_at_ms };
    segtab_log(t, &r);
}

void segtab_log_released(struct segtab *t, const struct seg *g, const struct mark_row *m)
{
    struct jrec r = { .kind = JREC_RELEASED, .seg = g->b.id };

    r.released = (struct jrec_released) { m->from, m->end - m->from, m->at_ms };
    segtab_log(t, &r);
}

void segtab_log_rebuild(struct segtab *t, const struct seg *g)
{
    struct jrec r = { .kind = JREC_REBUILD, .seg = g->b.id };

    r.rebuild = (struct jrec_rebuild) { g->mark_end, g->for_ms };
    segtab_log(t, &r);
}

void segtab_log_unstored(struct segtab *t, const struct seg *g)
{
    for (uint32_t i = 0; i < g->unstored.n; i++) {
        const struct mark_row *m = &g->unstored.v[i];
        struct jrec r = { .kind = JREC_UNSTORED, .seg = g->b.id };

        r.mark = (struct jrec_mark) { m->seg,   m->from,  m->end - m->from,
                                      m->again, m->at_ms, i == 0 ? g->unstored.held : 0 };
        segtab_log(t, &r);
    }
}

void segtab_log_forget(struct segtab *t, const struct seg *g, struct ticket_id id)
{
    log_session(t, g->b.id, (struct jrec_session) { id, SESSION_FREE, 0, 0 });
}

/* ---- moves ------------------------------------------------------------------------ */

void segtab_log_final(struct segtab *t, const struct seg *g, uint64_t move, seg_id to)
{
    struct jrec r = { .kind = JREC_FINAL, .seg = g->b.id };

    r.move = (struct jrec_move) { move, to };
    segtab_log(t, &r);
}

/* In parts, so that no record is large. */
void segtab_log_reloc(struct segtab *t, const struct seg *g, const struct reloc *r)
{
    struct jrec rec = { .kind = JREC_RELOC, .seg = g->b.id };
    uint32_t words = reloc_words(r->bits), at = 0;

    do {
        uint32_t n = words - at < JREC_WORDS ? words - at : JREC_WORDS;

        rec.reloc =
            (struct jrec_reloc) { r->seg, r->base, r->bits, at, n, r->alive + at };
        segtab_log(t, &rec);
        at += n;
    } while (at < words);
}

void segtab_log_absorbed(struct segtab *t, const struct seg *g, const struct xfer_in *x)
{
    const struct subject *s;
    const struct contact *c;

    if (!segtab_logs(t))
        return;
    segtab_log_set(t, JREC_ABSORB, g->b.id, x->from);
    for (uint32_t i = 0; i < g->b.relocs.n; i++)
        if (g->b.relocs.v[i]->host == NULL)
            segtab_log_reloc(t, g, g->b.relocs.v[i]);
    for (uint32_t i = 0; i < x->n_recs; i++) {
        struct ticket_id id = { x->rec[i].seg, x->rec[i].number };

        log_session(t, g->b.id, (struct jrec_session) { id, x->rec[i].state,
                                                        x->rec[i].reason,
                                                        x->rec[i].released_at_ms });
        segtab_log_extend(t, g, id, x->rec[i].until_s);
        segtab_log_used(t, g, id, x->rec[i].used);
    }
    for (uint32_t i = 0; (s = subjects_next(&x->subjects, &i)) != NULL;)
        if (!x->with_own || subjects_by_ticket(&g->b.subjects, s->id) == NULL)
            segtab_log_subject(t, g, s);
    for (uint32_t i = 0; (c = contacts_next(&x->contacts, &i)) != NULL;)
        if (!x->with_own || contacts_find(&g->b.contacts, c->id) == NULL)
            segtab_log_contact(t, g, JREC_CONTACT, c);
    segtab_log_set(t, JREC_ABSORBED, g->b.id, x->waiting);
}
