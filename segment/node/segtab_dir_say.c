/* segtab_dir_say.c: what this node holds, as a holder: told to each member once, from the
 * beginning, and then as it changes, all on one link, in order:
 *
 *   DIR_BEGIN, DIR_PUT ..., DIR_ECHO <-- DIR_HEARD, DIR_PUT ..., DIR_END <-- DIR_HEARD
 *
 * It begins anew when the link does, when the members change, and when no answer comes. */
#include "segment/node/segtab_int.h"

#include <stdlib.h>

/* ---- what we hold ---------------------------------------------------------------- */

static bool move_holds(const struct segtab *t, uint64_t hash)
{
    for (struct list_node *it = list_first(&t->moves); it != NULL;
         it = list_next(&t->moves, it)) {
        const struct move *v = container_of(it, struct move, node);

        if (v->side == MOVE_SIDE_IN && subjects_has(&v->in.subjects, hash))
            return true;
    }
    return false;
}

bool dir_holds(const struct segtab *t, uint64_t hash)
{
    for (struct list_node *it = list_first(&t->segs); it != NULL;
         it = list_next(&t->segs, it))
        if (subjects_has(&container_of(it, struct seg, node)->b.subjects, hash))
            return true;
    return move_holds(t, hash);
}

/* The same for one whose queue is known: no other can have it. */
static bool queue_holds(const struct segtab *t, const struct queue *q, uint64_t hash)
{
    for (struct list_node *it = list_first(&q->segs); it != NULL;
         it = list_next(&q->segs, it))
        if (subjects_has(&container_of(it, struct seg, queued)->b.subjects, hash))
            return true;
    return move_holds(t, hash);
}

void dir_silence(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];

    m->state = DIR_SILENT;
    m->echo = m->heard = 0;
    m->n = 0;
    claims_drop(t, i);
}

static void row_add(struct segtab *t, uint16_t i, const struct dir_row *r)
{
    struct dir_member *m = &t->dir.m[i];

    if (m->state == DIR_SILENT)
        return; /* it hears everything when there is a link */
    if (m->n == m->cap) {
        uint32_t cap = m->cap != 0 ? m->cap * 2 : 64;
        struct dir_row *v = realloc(m->row, cap * sizeof(*v));

        if (v == NULL) {
            dir_silence(t, i); /* the tick begins anew */
            return;
        }
        m->row = v;
        m->cap = cap;
    }
    m->row[m->n++] = *r;
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

    row.what = (uint8_t)what;
    if (owner == t->dir.self)
        say_self(t, what, &row);
    else
        row_add(t, owner, &row);
}

static struct dir_row row_of(const struct segtab *t, const struct subject *x)
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
    struct dir_row r = row_of(t, x);

    if (dirs_on(&t->dir) && (here || !queue_holds(t, g->queue, x->hash)))
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

/* ---- saying everything ------------------------------------------------------------- */

static void say_number(struct segtab *t, uint16_t i, enum dir_ask what)
{
    struct dir_row r = { .hash = ++t->dir.count };

    dir_say(t, i, what, &r);
    t->dir.asks = true;
}

/* Of one store of subjects, from *at on; false: enough for now. */
static bool say_subjects(struct segtab *t, uint16_t i, const struct subjects *s, uint32_t *at,
                         uint32_t *left)
{
    const struct subject *x;

    while (*left > 0 && (x = subjects_next(s, at)) != NULL) {
        struct dir_row r = row_of(t, x);

        if (dir_owner(&t->dir, x->hash) != i)
            continue;
        dir_say(t, i, DIR_PUT, &r);
        (*left)--;
    }
    return *left > 0;
}

static void say_moves(struct segtab *t, uint16_t i)
{
    uint32_t left = UINT32_MAX;

    list_each (&t->moves, it) {
        const struct move *v = container_of(it, struct move, node);
        uint32_t at = 0;

        if (v->side == MOVE_SIDE_IN)
            (void)say_subjects(t, i, &v->in.subjects, &at, &left);
    }
}

static void say_more(struct segtab *t, uint16_t i);

void dir_say_begin(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];

    dir_silence(t, i);
    m->state = DIR_SAYING;
    m->at = 0;
    m->at_i = 0;
    m->ending = false;
    say_number(t, i, DIR_BEGIN);
    say_more(t, i);
}

/* A segment at whose subjects we were may be gone, and some of them in another one that
 * was passed already: then from the beginning. */
static void say_more(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];
    struct seg *g = m->at != 0 ? segtab_seg(t, m->at) : NULL;
    struct list_node *it = g != NULL ? &g->node : list_first(&t->segs);
    uint32_t left = DIR_CHUNK;

    if (m->at != 0 && g == NULL) {
        dir_say_begin(t, i);
        return;
    }
    for (; it != NULL; it = list_next(&t->segs, it), m->at_i = 0) {
        g = container_of(it, struct seg, node);
        m->at = g->b.id;
        if (!say_subjects(t, i, &g->b.subjects, &m->at_i, &left))
            break;
    }
    m->ending = it == NULL;
    if (m->ending)
        say_moves(t, i);
    say_number(t, i, m->ending ? DIR_END : DIR_ECHO);
    m->echo = t->dir.count;
    m->said_ms = t->now.now_ms;
}

void dir_heard(struct segtab *t, uint16_t i, uint64_t number)
{
    struct dir_member *m = &t->dir.m[i];

    m->heard = u64_max(m->heard, number);
    if (m->state != DIR_SAYING || number != m->echo)
        return;
    m->echo = 0;
    if (m->ending)
        m->state = DIR_KNOWN;
    else
        say_more(t, i);
}

void dir_say_self_all(struct segtab *t)
{
    struct dirs *d = &t->dir;
    uint32_t left = UINT32_MAX, at = 0;

    d->self_again = false;
    directory_begin(&d->own, (uint16_t)d->self);
    list_each (&t->segs, it) {
        (void)say_subjects(t, (uint16_t)d->self,
                           &container_of(it, struct seg, node)->b.subjects, &at, &left);
        at = 0;
    }
    say_moves(t, (uint16_t)d->self);
    if (!d->self_again)
        directory_end(&d->own, (uint16_t)d->self);
}

