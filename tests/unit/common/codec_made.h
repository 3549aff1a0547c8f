/* codec_made.h: random messages of every type, and their comparison, both by the codec's own
 * tables: a member that is added there is drawn and compared here. For test_codec.c, which looks
 * that the tables have every field of the .proto. */
#ifndef SEGQ_CODEC_MADE_H
#define SEGQ_CODEC_MADE_H

#include <string.h>

#include "common/base/memory.h"
#include "common/base/rng.h"
#include "common/wire/codec.h"
#include "common/wire/columns.h"
#include "common/wire/codec_records.h"
#include "common/wire/codec_tasks.h"
#include "common/wire/replica_bytes.h"
#include "common/wire/wire_in.h"

#define PART_ROWS 40   /* of an array of messages, and inside one */
#define TEXT_MOST 1000

struct gen {
    struct rng r;
    struct arena a;
    uint32_t max_rows;
};

/* NULL: not one of these. */
static inline const struct fields *fields_of(unsigned type)
{
    switch (type) {
#define X(name, number, member, ways)                                                    \
    case MSG_##name:                                                                     \
        return codec_##member##_fields();
        MSG_RECORDS(X)
#undef X
    default:
        return NULL;
    }
}

static inline const struct columns *columns_of(unsigned type)
{
    switch (type) {
#define X(name, number, member, ways)                                                    \
    case MSG_##name:                                                                     \
        return &codec_##member##_columns;
        MSG_BATCHES(X)
#undef X
    default:
        return NULL;
    }
}

static inline void *pointer_at(const char *p)
{
    void *v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void point_at(char *p, const void *v)
{
    memcpy(p, &v, sizeof(v));
}

/* ---- drawn -------------------------------------------------------------------------------- */

/* All magnitudes, and often zero. */
static inline uint64_t g_any(struct gen *g)
{
    return rng_chance(&g->r, 0.2) ? 0 : rng_u64(&g->r) >> rng_below(&g->r, 64);
}

static inline uint64_t g_in(struct gen *g, uint64_t lo, uint64_t hi)
{
    return hi - lo < UINT64_MAX ? lo + rng_below(&g->r, hi - lo + 1) : g_any(g);
}

static inline char *g_bytes(struct gen *g, size_t n, unsigned lo, unsigned hi)
{
    char *p = arena_alloc(&g->a, n + 1);

    for (size_t i = 0; i < n; i++)
        p[i] = (char)g_in(g, lo, hi);
    return p;
}

static inline void g_array(struct gen *g, const struct field *f, char *s, unsigned depth)
{
    bool nested = depth > 0 || f->kind == F_MSGS;
    uint64_t most = u64_min(f->most, nested ? u64_min(g->max_rows, PART_ROWS) : g->max_rows);
    uint64_t n = f->n_width != 0 ? g_in(g, f->least, u64_max(f->least, most)) : f->most;

    if (f->n_width != 0)
        store(s + f->n, f->n_width, n);
    if (!f->in_place)
        point_at(s + f->off, arena_array(&g->a, n, f->step));
}

static inline void gen_fields(struct gen *g, const struct fields *t, char *s, unsigned depth);

static inline void gen_element(struct gen *g, const struct field *f, char *p, unsigned depth)
{
    uint64_t n;

    switch (f->kind) {
    case F_MSG:
    case F_MSGS:
        gen_fields(g, f->sub(), p, depth + 1);
        break;
    case F_BYTES:
    case F_SEED:
        memcpy(p, g_bytes(g, f->step, 0, 255), f->step);
        break;
    case F_TEXT:
    case F_WORDS:
    case F_COL_TEXT:
        n = g_in(g, 0, u64_min(f->most, TEXT_MOST));
        point_at(p + f->off, f->addr ? g_bytes(g, n, '#', '[') : g_bytes(g, n, f->n_width == 0, 255));
        if (f->n_width != 0)
            store(p + f->n, f->n_width, n);
        break;
    default:
        store(p + f->off, f->width, g_in(g, f->least, f->most));
    }
}

static inline void mend_marks(struct mark_row *v, uint32_t n, uint32_t below)
{
    for (uint32_t i = 0; i < n; i++) {
        v[i].end = 1 + v[i].end % below;
        v[i].from %= v[i].end;
    }
}

static inline void mend_draw(struct seg_draw *d, uint32_t most)
{
    if (d->n > most)
        d->n = 0;
    if (d->n == 0)
        memset(d->seed, 0, sizeof(d->seed));
}

/* A few of each: of 2048 rows a frame has room for them. */
static inline void gen_row(struct gen *g, struct replica_row *r)
{
    uint8_t *dead = (uint8_t *)g_bytes(g, 4 * DEAD_BYTES_MAX, 0, 255), *p = dead;
    uint8_t *lines = (uint8_t *)g_bytes(g, 30 + BITS512_N / 8, 0, 255);
    uint32_t next = r->head, block = 0, n = r->end >= BITS512_N;

    for (unsigned i = 0; i < 4 && next < r->end; i++)
        p = dead_put(p, &next, (uint32_t)g_in(g, next, r->end - 1));
    r->dead = dead;
    r->n_dead = (uint32_t)(p - dead);
    p = lines_put(lines, &block, (uint32_t)g_in(g, 0, (r->end - n) >> BITS512_SHIFT), 0, n);
    r->lines = lines;
    r->n_lines = (uint32_t)(p - lines) + n * BITS512_N / 8;
}

static inline void gen_marks(struct gen *g, struct seen_row *r)
{
    uint8_t *marks = (uint8_t *)g_bytes(g, 8 * MARK_BYTES_MAX, 0, 255), *p = marks;
    uint32_t last = 0;

    for (uint64_t i = g_in(g, 0, 8); i > 0; i--)
        p = mark_put(p, &last, (uint32_t)g_any(g), (uint8_t)g_any(g));
    r->marks = marks;
    r->n_marks = (uint32_t)(p - marks);
}

/* What has to hold between members; chance does not find it. */
static inline void mend(struct gen *g, const char *name, void *s)
{
    if (strcmp(name, "SegOpen") == 0) {
        struct msg_seg_open *o = s;

        o->capacity = 1 + (uint32_t)rng_below(&g->r, INT32_MAX);
        o->mark_end %= o->capacity;
        mend_draw(&o->draw, o->capacity);
        mend_marks((void *)(uintptr_t)o->marks, o->n_marks, o->capacity);
    } else if (strcmp(name, "SegSeal") == 0) {
        mend_draw(&((struct msg_seg_seal *)s)->draw, UINT32_MAX);
    } else if (strcmp(name, "SegCredit") == 0) {
        struct msg_seg_credit *c = s;

        c->end = (c->end | c->from) & INT32_MAX;
        c->from &= c->end;
    } else if (strcmp(name, "SegState") == 0) {
        struct seg_status *st = s;

        st->state = (uint8_t)g_in(g, SEG_OPEN, SEG_SEALED);
        st->credit_end |= st->credit_at;
        st->joined |= st->unused;
        mend_marks((void *)(uintptr_t)st->marks, st->n_marks, UINT32_MAX);
    } else if (strcmp(name, "Replica") == 0) {
        struct msg_replica *r = s;

        r->stamp_ms |= 1;
        for (uint32_t i = 0; i < r->n; i++) {
            r->v[i].end |= r->v[i].head;
            gen_row(g, &r->v[i]);
        }
    } else if (strcmp(name, "Seen") == 0) {
        struct msg_seen *m = s;

        for (uint32_t i = 0; i < m->n; i++)
            gen_marks(g, &m->v[i]);
    } else if (strcmp(name, "CopyBegin") == 0) {
        ((struct msg_copy_begin *)s)->end |= ((struct msg_copy_begin *)s)->first;
    } else if (strcmp(name, "CopyBlock") == 0) {
        struct copy_block *b = s;

        b->n_left = 0;
        for (size_t i = 0; i < ARRAY_LEN(b->alive); i++)
            b->n_left += __builtin_popcountll(b->alive[i]);
        b->left = (const uint8_t *)g_bytes(g, b->n_left, 0, 127);
    } else if (strcmp(name, "CopyReloc") == 0) {
        struct reloc_rec *r = s;

        r->bits = r->n_words * 64 - (r->n_words != 0 ? (uint32_t)rng_below(&g->r, 64) : 0);
    }
}

/* Elements of a member: those of its array, of a column its rows; itself. */
struct elements {
    char *p;
    size_t n;
    uint32_t step;
};

static inline struct elements elements_of(const struct field *f, const struct field *rows,
                                          const char *s)
{
    bool in_rows = f->kind >= F_COL;
    const struct field *of = in_rows ? rows : f;
    char *p = (char *)(uintptr_t)s;

    if (f->kind == F_MSG || f->kind == F_SEED)
        return (struct elements){ p + f->off, 1, 0 };
    if (!in_rows && f->kind != F_BYTES && f->kind != F_MSGS)
        return (struct elements){ p, f->kind != F_ROWS, 0 };
    return (struct elements){ of->in_place ? p + of->off : pointer_at(p + of->off),
                              of->n_width != 0 ? load(p + of->n, of->n_width) : of->most,
                              of->step };
}

static inline void gen_fields(struct gen *g, const struct fields *t, char *s, unsigned depth)
{
    const struct field *rows = NULL;

    for (const struct field *f = t->v; f < t->v + t->n; f++) {
        struct elements e;

        if (f->kind == F_ROWS || f->kind == F_MSGS || f->kind == F_BYTES)
            g_array(g, f, s, depth);
        if (f->kind == F_ROWS)
            rows = f;
        e = elements_of(f, rows, s);
        for (size_t i = 0; i < e.n; i++)
            gen_element(g, f, e.p + i * e.step, depth);
    }
    mend(g, t->desc->short_name, s);
}

static inline bool is_for_row(const struct columns *t, const struct column *c, const char *row)
{
    return !c->some || *(const uint8_t *)(row + t->some_off) == t->some_value;
}

static inline void gen_columns(struct gen *g, const struct columns *t, struct msg_batch *m)
{
    m->n = (uint32_t)g_in(g, 0, u64_min(t->max_rows, g->max_rows));
    m->rows = arena_array(&g->a, m->n, t->row_bytes);
    for (const struct column *c = t->v; c < t->v + t->n; c++) {
        for (uint32_t i = 0; i < m->n; i++) {
            char *row = (char *)m->rows + i * (size_t)t->row_bytes;
            uint64_t v = c->max < UINT32_MAX ? g_in(g, 0, c->max) : g_any(g);

            if (!is_for_row(t, c, row))
                continue;
            store(row + (c->kind == COL_TEXT ? c->off_len : c->off), c->width, v);
            if (c->kind == COL_TEXT)
                point_at(row + c->off, g_bytes(g, v, 0, 255));
        }
    }
}

/* A valid random message of a type that the codec knows. */
static inline void gen_msg(struct gen *g, enum msg_type t, struct msg *m)
{
    memset(m, 0, sizeof(*m));
    m->type = t;
    if (columns_of(t) != NULL)
        gen_columns(g, columns_of(t), &m->batch);
    else
        gen_fields(g, fields_of(t), (char *)&m->batch, 0);
}

/* ---- compared ----------------------------------------------------------------------------- */

static inline bool same_bytes(const void *x, const void *y, size_t n)
{
    return n == 0 || memcmp(x, y, n) == 0;
}

static inline bool same_fields(const struct fields *t, const char *x, const char *y);

static inline bool same_element(const struct field *f, const char *x, const char *y)
{
    switch (f->kind) {
    case F_MSG:
    case F_MSGS:
        return same_fields(f->sub(), x, y);
    case F_BYTES:
    case F_SEED:
        return memcmp(x, y, f->step) == 0;
    case F_TEXT:
    case F_WORDS:
    case F_COL_TEXT:
        if (f->n_width == 0)
            return strcmp(pointer_at(x + f->off), pointer_at(y + f->off)) == 0;
        return load(x + f->n, f->n_width) == load(y + f->n, f->n_width) &&
               same_bytes(pointer_at(x + f->off), pointer_at(y + f->off),
                          load(x + f->n, f->n_width));
    default:
        return load(x + f->off, f->width) == load(y + f->off, f->width);
    }
}

static inline bool same_fields(const struct fields *t, const char *x, const char *y)
{
    const struct field *rows = NULL;

    for (const struct field *f = t->v; f < t->v + t->n; f++) {
        struct elements a, b;

        rows = f->kind == F_ROWS ? f : rows;
        a = elements_of(f, rows, x);
        b = elements_of(f, rows, y);
        if (a.n != b.n)
            return false;
        for (size_t i = 0; i < a.n; i++)
            if (!same_element(f, a.p + i * a.step, b.p + i * b.step))
                return false;
    }
    return true;
}

static inline bool same_columns(const struct columns *t, const struct msg_batch *x,
                                const struct msg_batch *y)
{
    if (x->n != y->n)
        return false;
    for (const struct column *c = t->v; c < t->v + t->n; c++) {
        for (uint32_t i = 0; i < x->n; i++) {
            const char *p = (const char *)x->rows + i * (size_t)t->row_bytes;
            const char *q = (const char *)y->rows + i * (size_t)t->row_bytes;
            uint16_t off = c->kind == COL_TEXT ? c->off_len : c->off;

            if (load(p + off, c->width) != load(q + off, c->width))
                return false;
            if (c->kind == COL_TEXT && !same_bytes(pointer_at(p + c->off), pointer_at(q + c->off),
                                                   load(p + off, c->width)))
                return false;
        }
    }
    return true;
}

static inline bool same_msg(const struct msg *x, const struct msg *y)
{
    if (x->type != y->type)
        return false;
    if (columns_of(x->type) != NULL)
        return same_columns(columns_of(x->type), &x->batch, &y->batch);
    return same_fields(fields_of(x->type), (const char *)&x->batch, (const char *)&y->batch);
}

#endif
