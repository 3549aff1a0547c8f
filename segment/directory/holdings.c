/* holdings.c: rows to the members of the directory, and what this node holds. */
#include "segment/directory/holdings.h"

#include <assert.h>
#include <string.h>

#include "common/base/buf.h"
#include "segment/core/location.h"

bool dirs_on(const struct dirs *d)
{
    return d->version != 0 && d->self < d->n;
}

uint16_t dir_owner(const struct dirs *d, uint64_t hash)
{
    return directory_owner(hash, d->no, d->n);
}

uint16_t dir_member_named(const struct dirs *d, const char *name)
{
    for (uint32_t i = 0; dirs_on(d) && i < d->n; i++)
        if (i != d->self && strcmp(d->m[i].name, name) == 0)
            return (uint16_t)i;
    return UINT16_MAX;
}

/* ---- what we hold ----------------------------------------------------------------- */

static bool move_holds(const struct segtab *t, uint64_t hash)
{
    each_move (t, v) {
        if (v->side == MOVE_SIDE_IN && subjects_has(&v->in.subjects, hash))
            return true;
    }
    return false;
}

bool dir_holds(const struct segtab *t, uint64_t hash)
{
    each_seg (t, g)
        if (subjects_has(&g->b.subjects, hash))
            return true;
    return move_holds(t, hash);
}

/* No other queue can have it. */
bool dir_queue_holds(const struct segtab *t, const struct queue *q, uint64_t hash)
{
    if (q != NULL)
        each_queue_seg (q, g)
            if (subjects_has(&g->b.subjects, hash))
                return true;
    return move_holds(t, hash);
}

/* ---- what is said ----------------------------------------------------------------- */

void dir_forget_said(struct dir_member *m)
{
    m->state = DIR_SILENT;
    m->echo = m->heard = 0;
    m->n = 0;
}

static void row_add(struct segtab *t, uint16_t i, const struct dir_row *r)
{
    struct dir_member *m = &t->dir.m[i];

    assert(i != t->dir.self);
    if (m->state == DIR_SILENT)
        return; /* told everything once there is a link */
    if (GROW(m->row, m->n, m->cap, 64))
        m->row[m->n++] = *r;
    else
        dir_forget_said(m); /* the tick begins anew */
}

static void say_self(struct segtab *t, enum dir_ask what, const struct dir_row *r)
{
    struct dirs *d = &t->dir;
    uint16_t self = (uint16_t)d->self;

    if (what == DIR_FREE)
        directory_free(&d->own, self, r->hash);
    else if (what == DIR_PUT && directory_put(&d->own, self, r) < 0)
        d->self_again = true;
}

void dir_say(struct segtab *t, uint16_t owner, enum dir_ask what, const struct dir_row *r)
{
    struct dir_row row = *r;

    assert(owner < t->dir.n);
    row.what = (uint8_t)what;
    if (owner == t->dir.self)
        say_self(t, what, &row);
    else
        row_add(t, owner, &row);
}

struct dir_row dir_row_of(const struct segtab *t, const struct subject *x)
{
    struct ticket_id id = segtab_outside(t, x->id);

    return (struct dir_row){ .hash = x->hash,
                             .seg = id.seg,
                             .number = id.number,
                             .issued_s = x->issued_s,
                             .client = x->client };
}

/* A merge within the node takes a subject from one segment to another. */
static void changed(const struct seg *g, const struct subject *x, bool here)
{
    struct segtab *t = g->tab;
    struct dir_row r = dir_row_of(t, x);

    if (dirs_on(&t->dir) && (here || !dir_queue_holds(t, g->queue, x->hash)))
        dir_say(t, dir_owner(&t->dir, x->hash), here ? DIR_PUT : DIR_FREE, &r);
}

static void in_segment(void *ctx, const struct subject *x, bool here)
{
    changed(ctx, x, here);
}

static void in_move(void *ctx, const struct subject *x, bool here)
{
    changed(((struct move *)ctx)->seg, x, here);
}

void segtab_dir_watch(struct seg *g)
{
    g->b.subjects.watch = (struct subject_watch){ in_segment, g };
}

void segtab_dir_watch_move(struct move *v)
{
    v->in.subjects.watch = (struct subject_watch){ in_move, v };
}

/* ---- old entries ------------------------------------------------------------------ */

/* An entry may be old: what it held is over, and the word that said so was lost. */
void dir_check(struct segtab *t, uint16_t holder, uint64_t hash)
{
    struct dirs *d = &t->dir;

    if (holder == d->self) {
        if (!dir_holds(t, hash))
            directory_free(&d->own, holder, hash);
        return;
    }
    for (unsigned i = 0; i < d->n_check; i++)
        if (d->check[i].hash == hash)
            return;
    if (d->n_check < ARRAY_LEN(d->check))
        d->check[d->n_check++] = (struct dir_check){ hash, holder };
}
