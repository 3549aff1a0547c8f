/* say.c: what this node holds, as a holder: told to each member once, from the
 * beginning, and then as it changes, all on one link, in order:
 *
 *   DIR_BEGIN, DIR_PUT ..., DIR_ECHO <-- DIR_HEARD, DIR_PUT ..., DIR_END <-- DIR_HEARD
 *
 * It begins anew when the link does, when the members change, and when no answer comes. */
#include "segment/directory/say.h"

#include <assert.h>

#include "segment/core/location.h"
#include "segment/core/state.h"
#include "segment/directory/permit.h"
#include "segment/directory/rows.h"

void dir_silence(struct segtab *t, uint16_t i)
{
    dir_forget_said(&t->dir.m[i]);
    permits_drop(t, i);
}

static void say_number(struct segtab *t, uint16_t i, enum dir_ask what)
{
    struct dir_row r = { .hash = ++t->dir.count };

    dir_say(t, i, what, &r);
    t->dir.asks = true;
}

/* Says the subjects of s that have a name, from *at on; false: enough for now. */
static bool say_subjects(struct segtab *t, uint16_t i, const struct subjects *s,
                         uint32_t *at, uint32_t *left)
{
    const struct subject *x;

    while (*left > 0 && (x = subjects_next(s, at)) != NULL) {
        struct dir_row r = dir_row_of(t, x);

        if (!subject_has_name(x->text, x->len) || dir_owner(&t->dir, x->hash) != i)
            continue;
        dir_say(t, i, DIR_PUT, &r);
        (*left)--;
    }
    return *left > 0;
}

static void say_moves(struct segtab *t, uint16_t i)
{
    uint32_t left = UINT32_MAX;

    each_move (t, v) {
        uint32_t at = 0;

        if (v->side == MOVE_SIDE_IN)
            (void)say_subjects(t, i, &v->in.subjects, &at, &left);
    }
}

static void say_more(struct segtab *t, uint16_t i);

void dir_say_begin(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];

    assert(i < t->dir.n && i != t->dir.self);
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
    each_seg (t, g) {
        (void)say_subjects(t, (uint16_t)d->self,
                           &g->b.subjects, &at, &left);
        at = 0;
    }
    say_moves(t, (uint16_t)d->self);
    if (!d->self_again)
        directory_end(&d->own, (uint16_t)d->self);
}

/* ---- subjects of moved tickets ---------------------------------------------------- */

bool segtab_dir_tell(struct segtab *t, struct move *v)
{
    struct dirs *d = &t->dir;

    v->told = 0;
    if (!dirs_on(d) || v->in.subjects.n == 0 || v->peer == SEGTAB_SELF)
        return true;
    v->told = ++d->count;
    for (uint32_t i = 0; i < d->n; i++) {
        struct dir_row r = { .hash = v->told };

        if (i == d->self)
            continue;
        if (d->m[i].to == 0)
            return false;
        dir_say(t, (uint16_t)i, DIR_ECHO, &r); /* a member that is being told all hears it so */
    }
    return true;
}

bool segtab_dir_told(const struct segtab *t, const struct move *v)
{
    const struct dirs *d = &t->dir;

    for (uint32_t i = 0; v->told != 0 && i < d->n; i++)
        if (i != d->self && d->m[i].heard < v->told)
            return false;
    return true;
}
