/* audit_desk.c: a few places; questions are rare, and those beyond are told so. */
#include "segment/audit/audit_desk.h"

#include <assert.h>

enum { FREE, ASKED, DONE };

static int state_of(const struct audit_desk *d, unsigned i)
{
    return atomic_load_explicit(&d->place[i].state, memory_order_acquire);
}

static void set_state(struct audit_desk *d, unsigned i, int state)
{
    atomic_store_explicit(&d->place[i].state, state, memory_order_release);
}

void audit_desk_fini(struct audit_desk *d)
{
    if (d->working)
        audit_find_fini(&d->at_work);
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++)
        if (state_of(d, i) == DONE)
            buf_fini(&d->place[i].f.lines);
}

bool audit_desk_ask(struct audit_desk *d, const struct audit_ask *q)
{
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++) {
        if (state_of(d, i) != FREE)
            continue;
        d->place[i].f = (struct audit_found) { .ask = *q };
        set_state(d, i, ASKED);
        return true;
    }
    return false;
}

bool audit_desk_take(struct audit_desk *d, struct audit_found *f)
{
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++) {
        if (state_of(d, i) != DONE)
            continue;
        *f = d->place[i].f;
        set_state(d, i, FREE);
        return true;
    }
    return false;
}

static void finish(struct audit_desk *d)
{
    struct audit_found *f = &d->place[d->busy].f;

    assert(d->working && state_of(d, d->busy) == ASKED);
    f->lines = d->at_work.lines;
    f->whole = d->at_work.whole;
    f->read = d->at_work.read;
    buf_init(&d->at_work.lines);
    audit_find_fini(&d->at_work);
    d->working = false;
    set_state(d, d->busy, DONE);
}

/* The next question; false: there is none. */
static bool begin(struct audit_desk *d, int dir)
{
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++) {
        struct audit_found *f = &d->place[i].f;

        if (state_of(d, i) != ASKED)
            continue;
        d->busy = i;
        d->working = audit_find_init(&d->at_work, dir, f->ask.id, f->ask.max);
        if (!d->working)
            set_state(d, i, DONE); /* nothing, and not the whole of it */
        return true;
    }
    return false;
}

bool audit_desk_work(struct audit_desk *d, int dir)
{
    if (!d->working)
        return begin(d, dir);
    if (!audit_find_step(&d->at_work))
        finish(d);
    return true;
}
