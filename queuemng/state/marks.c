/* marks.c: the log of releases of a lane. */
#include "queuemng/state/marks.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/records.h"
#include "queuemng/state/state.h"

#define SLACK_MS 60000 /* clocks of machines differ */

/* Finds the segment that tokens name: of the chain, or an absorbed one, or (while a commit
 * is under way) both. false: neither. */
static bool mark_raise(struct mlane *l, seg_id seg, uint32_t end, uint32_t *was)
{
    bool found = false;

    *was = 0;
    each_seg(l, s) {
        if (s->id != seg)
            continue;
        found = true;
        *was = s->mark_end;
        s->mark_end = s->mark_end > end ? s->mark_end : end;
    }
    for (uint32_t i = 0; i < l->n_alias; i++) {
        struct malias *a = &l->alias[i];

        if (a->from != seg)
            continue;
        found = true;
        *was = *was > a->mark_end ? *was : a->mark_end;
        a->mark_end = a->mark_end > end ? a->mark_end : end;
    }
    return found;
}

static struct mchunk *chunk_insert(struct mlane *l, uint64_t no)
{
    struct mchunk *c = calloc(1, sizeof(*c));
    uint32_t i = l->n_chunks;

    if (c == NULL || !GROW(l->chunk, l->n_chunks, l->cap_chunks, 4)) {
        free(c);
        return NULL;
    }
    assert(l->n_chunks < l->cap_chunks);
    for (; i > 0 && l->chunk[i - 1]->no > no; i--)
        l->chunk[i] = l->chunk[i - 1];
    l->chunk[i] = c;
    l->n_chunks++;
    c->no = no;
    if (no >= l->next_chunk)
        l->next_chunk = no + 1;
    return c;
}

static bool row_add(const struct mng *m, struct mlane *l, const struct mark_row *r)
{
    struct mchunk *c = l->n_chunks > 0 ? l->chunk[l->n_chunks - 1] : NULL;

    if (c == NULL || c->n == MNG_MARK_ROWS)
        c = chunk_insert(l, l->next_chunk);
    if (c == NULL)
        return false;
    assert(c->n < MNG_MARK_ROWS);
    c->v[c->n++] = *r;
    c->dirty = true;
    c->since_ms = m->now_ms;
    return true;
}

static bool has_again(const struct mlane *l, const struct mark_row *r)
{
    for (uint32_t i = l->n_chunks; i-- > 0;)
        for (uint32_t k = l->chunk[i]->n; k-- > 0;) {
            const struct mark_row *x = &l->chunk[i]->v[k];

            if (x->again && x->seg == r->seg && x->from == r->from && x->at_ms == r->at_ms)
                return true;
        }
    return false;
}

/* false: no memory; the node says it again. */
static bool row_take(struct mng *m, struct mlane *l, struct mark_row r)
{
    uint32_t was;

    if (!mark_raise(l, r.seg, 0, &was))
        return true; /* over: nobody will ask */
    if (!r.again && r.from < was)
        r.from = was;
    if (r.again ? has_again(l, &r) : r.from >= r.end)
        return true;
    if (!row_add(m, l, &r))
        return false;
    mark_raise(l, r.seg, r.end, &was);
    l->q->put_marks = true;
    queue_put_later(m, l->q);
    return true;
}

void marks_take(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    bool all = true;

    if (st->n_marks == 0)
        return;
    for (uint32_t i = 0; i < st->n_marks && all; i++) {
        const struct mark_row *r = &st->marks[i];

        all = row_take(m, s->lane, *r);
        if (!r->again)
            eta_passed(&s->lane->eta, m->now_ms, r->seg, r->end, &m->eta_errors);
    }
    if (all)
        batch_stored(s->node, s->id, st->last_tick);
}

/* More of the last row's release? */
static bool row_extend(const struct mng *m, struct mlane *l, const struct mark_row *r)
{
    struct mchunk *c = l->n_chunks > 0 ? l->chunk[l->n_chunks - 1] : NULL;
    struct mark_row *x = c != NULL && c->n > 0 ? &c->v[c->n - 1] : NULL;

    if (x == NULL || x->again || x->seg != r->seg || x->end != r->from || x->at_ms != r->at_ms)
        return false;
    x->end = r->end;
    c->dirty = true;
    c->since_ms = m->now_ms;
    return true;
}

bool marks_grant(struct mng *m, struct mlane *l, const struct mark_row *r)
{
    uint32_t was;

    assert(r->from < r->end && !r->again);
    if (!row_extend(m, l, r) && !row_add(m, l, r))
        return false;
    mark_raise(l, r->seg, r->end, &was);
    l->q->put_marks = true;
    queue_put_later(m, l->q);
    return true;
}

/* Cuts these numbers out of a row; in two parts it stays as it is. */
static void row_cut(struct mark_row *r, uint32_t from, uint32_t end)
{
    if (r->from >= from)
        r->from = r->end < end ? r->end : end;
    else if (r->end <= end)
        r->end = from;
}

/* Stored with the next release: until then they count for a manager that comes after this one. */
void marks_unused(struct mlane *l, seg_id seg, uint32_t from, uint32_t end)
{
    assert(from < end);
    for (uint32_t i = l->n_chunks; i-- > 0;) {
        struct mchunk *c = l->chunk[i];

        for (uint32_t k = c->n; k-- > 0;) {
            struct mark_row *r = &c->v[k];
            bool is_first = r->from <= from;

            if (r->again || r->seg != seg || r->from >= end || r->end <= from)
                continue;
            row_cut(r, from, end);
            c->dirty = true;
            if (r->from == r->end)
                memmove(r, r + 1, (--c->n - k) * sizeof(*r));
            if (is_first)
                return; /* earlier rows are of other numbers */
        }
    }
}

static uint32_t rows_of(const struct mlane *l, seg_id seg)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->n_chunks; i++)
        for (uint32_t k = 0; k < l->chunk[i]->n; k++)
            n += l->chunk[i]->v[k].seg == seg;
    return n < MSG_MARKS_MAX ? n : MSG_MARKS_MAX;
}

/* Counted first: a node may be lost with a thousand segments of one lane. */
const struct mark_row *marks_of(const struct mlane *l, seg_id seg, struct arena *mem,
                                uint32_t *n)
{
    uint32_t at = rows_of(l, seg);
    struct mark_row *v = arena_array(mem, at, sizeof(*v));

    *n = v != NULL ? at : 0;
    for (uint32_t i = l->n_chunks; i-- > 0 && v != NULL;)
        for (uint32_t k = l->chunk[i]->n; k-- > 0 && at > 0;)
            if (l->chunk[i]->v[k].seg == seg)
                v[--at] = l->chunk[i]->v[k];
    return v;
}

static void key_of(char *key, size_t n, const struct mlane *l, uint64_t chunk)
{
    snprintf(key, n, "mark/%u/%u/%" PRIu64, l->q->id, l->no, chunk);
}

static void chunk_put(struct mng *m, const struct mlane *l, const struct mchunk *c)
{
    char key[96];

    key_of(key, sizeof(key), l, c->no);
    out_put_json(m, key, json_rows_write(&mark_row, c->v, c->n, sizeof(c->v[0])));
}

void marks_flush(struct mng *m, struct mlane *l)
{
    for (uint32_t i = l->n_chunks; i-- > 0;) {
        if (l->chunk[i]->dirty)
            chunk_put(m, l, l->chunk[i]);
        l->chunk[i]->dirty = false;
    }
}

int marks_load(struct mlane *l, uint64_t chunk, const struct mark_row *v, uint32_t n)
{
    struct mchunk *c = chunk_insert(l, chunk);

    assert(n <= MNG_MARK_ROWS);
    if (c == NULL)
        return SQ_ENOMEM;
    c->n = n;
    memcpy(c->v, v, n * sizeof(*v));
    return 0;
}

void marks_load_end(const struct mng *m, struct mlane *l)
{
    uint32_t was;

    for (uint32_t i = 0; i < l->n_chunks; i++) {
        l->chunk[i]->since_ms = m->now_ms;
        for (uint32_t k = 0; k < l->chunk[i]->n; k++)
            (void)mark_raise(l, l->chunk[i]->v[k].seg, l->chunk[i]->v[k].end, &was);
    }
}

/* By both clocks: ours may have begun anew, the other one may jump. */
static bool is_over(const struct mng *m, const struct mlane *l, const struct mchunk *c)
{
    int64_t at = 0;

    if (m->now_ms - c->since_ms <= queue_session_ms(&l->q->def))
        return false;

    for (uint32_t i = 0; i < c->n; i++)
        at = at > c->v[i].at_ms ? at : c->v[i].at_ms;
    return at + queue_session_ms(&l->q->def) + SLACK_MS < m->wall_ms;
}

static void first_drop(struct mng *m, struct mlane *l, bool stored)
{
    char key[96];

    assert(l->n_chunks > 0);
    key_of(key, sizeof(key), l, l->chunk[0]->no);
    if (stored)
        out_del(m, key);
    free(l->chunk[0]);
    memmove(l->chunk, l->chunk + 1, --l->n_chunks * sizeof(struct mchunk *));
}

/* The chain's record, stored first, keeps the number up to which each segment was released. */
void marks_prune(struct mng *m, struct mlane *l)
{
    if (l->n_chunks == 0 || l->q->put_marks ||
        (!is_over(m, l, l->chunk[0]) && l->n_chunks <= MNG_MARK_RECORDS))
        return;
    chain_put(m, l->q);
    while (l->n_chunks > 0 &&
           (is_over(m, l, l->chunk[0]) || l->n_chunks > MNG_MARK_RECORDS))
        first_drop(m, l, true);
}

void marks_forget(struct mng *m, struct mlane *l, bool stored)
{
    while (l->n_chunks > 0)
        first_drop(m, l, stored);
    free(l->chunk);
    l->chunk = NULL;
    l->cap_chunks = 0;
}
