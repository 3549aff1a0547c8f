/* stage.c: what records do to a segment, and what is replayed only when it is there as a whole:
 * what was absorbed, and the segments of a snapshot. */
#include "segment/restore/stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "segment/core/location.h"
#include "segment/core/segment.h"
#include "segment/directory/holdings.h"
#include "segment/tickets/draw.h"
#include "segment/tickets/rebuild.h"
#include "segment/tickets/release.h"
#include "segment/transfer/move.h"

/* ---- what a record does to a segment ------------------------------------------------ */

struct seg *replay_seg(struct segtab *t, seg_id id)
{
    struct seg *g = segtab_seg(t, id);

    if (g != NULL || map_get(&t->locations, id) == MAP_NONE)
        return g;
    each_seg (t, x)
        if (x->b.id == id)
            return x;
    return NULL;
}

int replay_new_seg(struct segtab *t, seg_id id, const struct jrec_open *o,
                   struct seg **out)
{
    struct queue *q = segtab_queue(t, o->queue, false);
    struct msg_seg_open m = { .seg = id,
                              .queue = o->queue,
                              .lane = o->lane,
                              .kind = o->kind,
                              .capacity = o->capacity,
                              .ahead = o->ahead };

    if (q == NULL || id == 0 || o->lane >= LANES_MAX || q->lanes[o->lane] == NULL ||
        o->capacity >= SEGQ_NONE / 2 ||
        (o->kind == OPEN_REBUILD && o->capacity > SEGTAB_REBUILD_MAX) || replay_seg(t, id) != NULL)
        return SQ_EPROTO;
    *out = segtab_seg_new(t, &m, q);
    if (*out == NULL)
        return SQ_ENOMEM;
    segtab_dir_watch(*out);
    return 0;
}

void replay_unit(struct seg *g, uint64_t unit_ms)
{
    g->unit_ms = (uint32_t)u64_max(unit_ms, 1);
    g->per_unit = 1.0 / g->unit_ms;
}

void replay_drop_moves(struct segtab *t, struct seg *g)
{
    if (g->out != NULL)
        segtab_move_free(t, g->out);
    assert(g->out == NULL && g->in == NULL); /* a target's move is not in the journal */
}

void replay_remove(struct segtab *t, struct seg *g)
{
    replay_drop_moves(t, g);
    segtab_seg_free(t, g);
}

int replay_append(struct seg *g, uint32_t n)
{
    uint32_t number;

    for (; n > 0; n--)
        if (segq_append(&g->b.q, 0, &number) < 0)
            return SQ_ENOMEM;
    return 0;
}

struct subject replay_subject_of(const struct jrec_subject *s)
{
    return (struct subject) {
        .id = s->id,
        .issued_s = s->issued_s,
        .client = s->client,
        .len = (uint8_t)s->text.n,
        .hash = s->hash,
        .text = (char *)(uintptr_t)s->text.p, /* only read */
    };
}

int replay_contact(struct contacts *s, const struct jrec *r)
{
    const struct jrec_contact *c = &r->contact;
    struct contact *was = contacts_find(s, c->id);
    struct contact x = { .id = c->id,
                         .said = c->said,
                         .claim_ms = c->claim_ms,
                         .n = (uint16_t)c->sealed.n,
                         .sealed = (uint8_t *)(uintptr_t)c->sealed.p }; /* only read */

    if (c->id.seg == 0 || (r->kind == JREC_CONTACT_SAID && was == NULL))
        return SQ_EPROTO;
    if (r->kind == JREC_CONTACT_SAID)
        contact_said(s, was, c->said);
    else if (x.n == 0 && x.said == 0)
        contacts_del(s, c->id);
    else
        return contacts_put(s, &x);
    return 0;
}

bool replay_is_known(const struct segtab *t, const struct seg *g)
{
    return t->partial && (g == NULL || g->known);
}

int replay_rebuild(struct seg *g, const struct jrec_rebuild *h)
{
    if (!g->b.q.rebuilding || h->mark_end > g->b.q.end || h->for_ms == 0)
        return SQ_EPROTO;
    g->mark_end = g->certain = h->mark_end;
    if (g->b.q.popped_end < h->mark_end)
        g->b.q.popped_end = h->mark_end;
    g->for_ms = h->for_ms;
    return 0;
}

void replay_early(struct segtab *t, struct seg *g, uint64_t closes_ms)
{
    g->early = g->draw == NULL; /* a damaged journal's word about a drawn segment is too late */
    segtab_close_at(t, g, (int64_t)closes_ms);
}

int replay_draw(struct segtab *t, struct seg *g, const struct jrec_draw *r, bool now)
{
    struct seg_draw d = { .n = r->n };

    memcpy(d.seed, r->seed, sizeof(d.seed));
    if (d.n > SEGQ_NONE / 2 || g->draw != NULL || (now && d.n > 0 && d.n < g->b.q.end))
        return SQ_EPROTO;
    return now ? segtab_draw_now(g, &d) : segtab_draw_was(t, g, &d);
}

struct staged {
    struct jrec_session s;
    int64_t until_s;
    uint64_t used;
};

struct stage {
    seg_id seg; /* 0: nothing is being staged */
    struct staged *v; /* owned */
    uint32_t n, cap;
    struct reloc_list relocs; /* owned */
    struct subjects subjects; /* owned */
    struct contacts contacts; /* owned */
    struct jrec_segment s;        /* head of a snapshot's segment */
    uint64_t final, final_to;
};

/* ---- the stage ------------------------------------------------------------------------ */

static void stage_reset(struct stage *s)
{
    free(s->v);
    reloc_list_fini(&s->relocs);
    subjects_fini(&s->subjects);
    contacts_fini(&s->contacts);
    memset(s, 0, sizeof(*s));
    subjects_init(&s->subjects);
    contacts_init(&s->contacts);
}

void segtab_stage_free(struct segtab *t)
{
    if (t->stage == NULL)
        return;
    stage_reset(t->stage);
    free(t->stage);
    t->stage = NULL;
}

int replay_stage(struct segtab *t, seg_id seg)
{
    if (t->stage == NULL) {
        t->stage = calloc(1, sizeof(*t->stage));
        if (t->stage == NULL)
            return SQ_ENOMEM;
    }
    stage_reset(t->stage);
    t->stage->seg = seg;
    return 0;
}

bool replay_is_staged(const struct segtab *t, seg_id seg)
{
    return t->stage != NULL && t->stage->seg == seg && seg != 0;
}

bool replay_is_cut(const struct segtab *t)
{
    return t->stage != NULL && t->stage->seg != 0;
}

static int stage_session(struct stage *s, const struct jrec_session *x)
{
    if (x->state == SESSION_FREE)
        return SQ_EPROTO;
    if (!GROW(s->v, s->n, s->cap, 64))
        return SQ_ENOMEM;
    s->v[s->n++] = (struct staged) { *x, 0, 0 };
    return 0;
}

/* The session that what says more of it follows; NULL: another one. */
static struct staged *last_staged(struct stage *s, struct ticket_id id)
{
    struct staged *last = s->n > 0 ? &s->v[s->n - 1] : NULL;

    return last != NULL && last->s.id.seg == id.seg && last->s.id.number == id.number ? last : NULL;
}

static int stage_extend(struct stage *s, const struct jrec_extend *x)
{
    struct staged *last = last_staged(s, x->id);

    if (last == NULL)
        return SQ_EPROTO;
    last->until_s = x->until_s;
    return 0;
}

static int stage_used(struct stage *s, const struct jrec_used *x)
{
    struct staged *last = last_staged(s, x->id);

    if (last == NULL || !session_has_use(last->s.state))
        return SQ_EPROTO;
    last->used = x->used;
    return 0;
}

/* Tables come one after the other, the parts of each in order. */
static int stage_reloc(struct stage *s, const struct jrec_reloc *x)
{
    uint32_t words = reloc_words(x->bits);
    struct reloc *r = NULL;

    if (x->src == 0)
        return SQ_EPROTO;
    if (x->at == 0) {
        r = reloc_new(x->src, x->base, x->bits, NULL);
        if (r == NULL || reloc_list_reserve(&s->relocs, 1) < 0) {
            reloc_free(r);
            return SQ_ENOMEM;
        }
        s->relocs.v[s->relocs.n++] = r; /* sorted when all are there */
    } else if (s->relocs.n > 0) {
        r = s->relocs.v[s->relocs.n - 1];
    }
    if (r == NULL || r->seg != x->src || r->bits != x->bits ||
        x->n_words > words - x->at || x->at > words)
        return SQ_EPROTO;
    if (x->n_words > 0)
        memcpy(r->alive + x->at, x->words, x->n_words * sizeof(uint64_t));
    if (x->at + x->n_words == words)
        reloc_count(r);
    return 0;
}

/* ---- what was staged -------------------------------------------------------------- */

static int take_sessions(struct seg *g, struct stage *s)
{
    if (sessions_reserve(&g->b.released, s->n) < 0)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct jrec_session *v = &s->v[i].s;
        struct session *x;

        if (v->state >= SESSION_NSTATES)
            return SQ_EPROTO;
        if (sessions_find(&g->b.released, v->id) != NULL)
            continue;
        x = sessions_add(&g->b.released, v->id, (enum session_state)v->state, 0);
        x->reason = v->reason;
        x->released_at_ms = v->at_ms;
        x->until_s = s->v[i].until_s;
        if (s->v[i].used != 0)
            x->used = s->v[i].used;
    }
    return 0;
}

static int take_subjects(struct seg *g, const struct stage *s)
{
    const struct subject *x;

    for (uint32_t i = 0; (x = subjects_next(&s->subjects, &i)) != NULL;)
        if (subjects_by_ticket(&g->b.subjects, x->id) == NULL &&
            subjects_add(&g->b.subjects, x) < 0)
            return SQ_ENOMEM;
    return 0;
}

static int take_relocs(struct segtab *t, struct seg *g, struct stage *s)
{
    if (reloc_list_reserve(&g->b.relocs, s->relocs.n) < 0)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < s->relocs.n; i++) {
        struct reloc *r = s->relocs.v[i];

        if ((uint64_t)r->base + r->count > g->b.q.end || r->seg == g->b.id) {
            memmove(s->relocs.v, s->relocs.v + i, (s->relocs.n - i) * sizeof(r));
            s->relocs.n -= i; /* the others have another owner now */
            return SQ_EPROTO;
        }
        r->host = g;
        reloc_list_add(&g->b.relocs, r);
    }
    s->relocs.n = 0;
    for (uint32_t i = 0; i < g->b.relocs.n; i++)
        if (segtab_location_set(t, g->b.relocs.v[i]->seg, AT_RELOC, g->b.relocs.v[i]) < 0)
            return SQ_ENOMEM;
    return 0;
}

static int take_stage(struct segtab *t, struct seg *g)
{
    struct stage *s = t->stage;
    int rc = take_sessions(g, s);

    assert(s->seg == g->b.id);
    rc = rc
        ?: take_subjects(g, s)
        ?: contacts_put_all(&g->b.contacts, &s->contacts)
        ?: take_relocs(t, g, s);
    stage_reset(s);
    return rc;
}

/* Names that were absorbed came here, whether their segment is in the snapshot or was removed
 * before its turn: where they were before is over. */
static void end_aliases(struct segtab *t)
{
    for (uint32_t i = 0; i < t->stage->relocs.n; i++) {
        seg_id id = t->stage->relocs.v[i]->seg;
        uint64_t v = map_get(&t->locations, id);

        if (v != MAP_NONE && (v & 3) == AT_MOVED)
            map_del(&t->locations, id);
    }
}

static int absorbed(struct segtab *t, struct seg *g, uint64_t n)
{
    int rc;

    if (!g->b.q.sealed || n > SEGQ_NONE / 2)
        return SQ_EPROTO;
    segq_unseal(&g->b.q);
    rc = replay_append(g, (uint32_t)n);
    segq_seal(&g->b.q);
    return rc < 0 ? rc : take_stage(t, g);
}

/* ---- a snapshot's segment --------------------------------------------------------- */

int replay_seg_begin(struct segtab *t, const struct jrec *r)
{
    struct seg *g;
    int rc = replay_stage(t, r->seg);

    if (rc == 0)
        rc = t->partial ? replay_new_seg(t, r->seg, &r->segment.open, &g) : SQ_EPROTO;
    if (rc < 0)
        return rc;
    t->stage->s = r->segment;
    g->known = true;
    replay_unit(g, r->segment.unit_ms);
    g->next = r->segment.next;
    g->last_tick = r->segment.last_tick;
    g->last_n = r->segment.last_n;
    g->popped = r->segment.popped;
    g->no_shows = r->segment.no_shows;
    g->expired = r->segment.expired;
    g->left = r->segment.left;
    return 0;
}

static uint32_t slots_of(const struct stage *s, uint64_t block)
{
    uint64_t first = block << BLOCK_SHIFT;

    return first >= s->s.end ? 0 : (uint32_t)u64_min(BLOCK_SLOTS, s->s.end - first);
}

static enum dead why_of(const struct jrec_block *b, uint32_t i)
{
    return (enum dead)((b->why[0][i / 64] >> (i % 64) & 1) +
                       2 * (b->why[1][i / 64] >> (i % 64) & 1));
}

/* A block of a line under rebuild: only its known slots. */
static int restored_block(struct segtab *t, struct seg *g, const struct jrec_block *b)
{
    uint32_t n = slots_of(t->stage, b->index), first = b->index << BLOCK_SHIFT;

    for (uint32_t i = 0; i < n; i++) {
        bool alive = b->alive[i / 64] >> (i % 64) & 1;
        enum dead why = why_of(b, i);

        if (!alive && why == DEAD_UNKNOWN)
            continue;
        if (!segq_is_unknown(&g->b.q, first + i))
            return SQ_EPROTO;
        if ((alive ? segq_restore(&g->b.q, first + i, 0)
                   : segq_kill(&g->b.q, first + i, why)) < 0)
            return SQ_ENOMEM;
    }
    return 0;
}

static int block(struct segtab *t, struct seg *g, const struct jrec_block *b)
{
    uint32_t n = slots_of(t->stage, b->index), first = b->index << BLOCK_SHIFT;

    if (n == 0 || g->b.q.end != first)
        return SQ_EPROTO;
    if (replay_append(g, n) < 0)
        return SQ_ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        if (!(b->alive[i / 64] >> (i % 64) & 1))
            segq_drop(&g->b.q, first + i, why_of(b, i));
    }
    return 0;
}

static int freed_blocks(struct segtab *t, struct seg *g, const struct jrec_run *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        struct jrec_block b = { .index = r->first + i };

        memset(b.why[0], r->why & 1 ? 0xff : 0, sizeof(b.why[0]));
        memset(b.why[1], r->why & 2 ? 0xff : 0, sizeof(b.why[1]));
        if (block(t, g, &b) < 0)
            return SQ_EPROTO;
    }
    return 0;
}

static int seg_end(struct segtab *t, struct seg *g)
{
    const struct jrec_segment *s = &t->stage->s;
    uint64_t final = t->stage->final, to = t->stage->final_to;
    int rc;

    if (g->b.q.end != s->end || s->joined > s->end || g->unused > s->joined)
        return SQ_EPROTO;
    g->b.joined = s->joined;
    g->b.q.popped_end = s->popped_end;
    if (s->sealed)
        segq_seal(&g->b.q);
    rc = take_stage(t, g);
    return rc < 0 || final == 0 ? rc : segtab_move_recover(t, g, final, to);
}

static int unstored(struct seg *g, const struct jrec_mark *m)
{
    struct mark_row r = { m->src, m->first, m->first + m->n, m->again != 0, m->at_ms };

    if (m->n == 0 || m->n > UINT32_MAX - m->first || g->unstored.n > 2 * SEGTAB_UNSTORED_MAX)
        return SQ_EPROTO;
    if (marks_reserve(&g->unstored, 1) < 0)
        return SQ_ENOMEM;
    marks_put(&g->unstored, &r);
    g->unstored.held += m->held;
    return 0;
}

/* Records of the segment on the stage, but for those of its people. */
static int of_seg(struct segtab *t, struct seg *g, const struct jrec *r)
{
    if (g == NULL)
        return SQ_EPROTO;
    switch ((enum jrec_kind)r->kind) {
    case JREC_ASIDE:
        if (r->run.n != 0)
            return SQ_EPROTO;
        g->unused = r->run.first; /* seg_end() looks whether that can be */
        return 0;
    case JREC_FREED_BLOCKS:
        return g->b.q.rebuilding ? 0 : freed_blocks(t, g, &r->run);
    case JREC_BLOCK:
        return g->b.q.rebuilding ? restored_block(t, g, &r->block) : block(t, g, &r->block);
    case JREC_REBUILD:
        return replay_rebuild(g, &r->rebuild);
    case JREC_EARLY:
        replay_early(t, g, r->set.n);
        return 0;
    case JREC_DRAW:
        return replay_draw(t, g, &r->draw, false);
    case JREC_UNSTORED:
        return unstored(g, &r->mark);
    default:
        return SQ_EPROTO;
    }
}

/* Between ABSORB and ABSORBED, SEG and SEG_END. */
int replay_on_stage(struct segtab *t, const struct jrec *r)
{
    struct seg *g = replay_seg(t, r->seg);
    struct subject x;
    int rc;

    assert(replay_is_staged(t, r->seg));
    switch ((enum jrec_kind)r->kind) {
    case JREC_SESSION:
        return stage_session(t->stage, &r->session);
    case JREC_EXTEND:
        return stage_extend(t->stage, &r->extend);
    case JREC_USED:
        return stage_used(t->stage, &r->used);
    case JREC_SUBJECT:
        x = replay_subject_of(&r->subject);
        return subjects_by_ticket(&t->stage->subjects, x.id) == NULL
                   ? subjects_add(&t->stage->subjects, &x)
                   : SQ_EPROTO;
    case JREC_CONTACT:
        return replay_contact(&t->stage->contacts, r);
    case JREC_RELOC:
        return stage_reloc(t->stage, &r->reloc);
    case JREC_ABSORBED:
        rc = 0;
        if (replay_is_known(t, g))
            end_aliases(t);
        else
            rc = g != NULL ? absorbed(t, g, r->set.n) : SQ_EPROTO;
        stage_reset(t->stage);
        return rc;
    case JREC_FINAL:
        t->stage->final = r->move.move;
        t->stage->final_to = r->move.to;
        return 0;
    case JREC_SEG_END:
        rc = g != NULL ? seg_end(t, g) : SQ_EPROTO;
        stage_reset(t->stage);
        return rc;
    default:
        return of_seg(t, g, r);
    }
}
