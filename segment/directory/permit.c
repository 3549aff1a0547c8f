/* permit.c: a join with a subject needs the word of its share's owner. That takes a
 * round trip between nodes, and a batch of joins is answered at once; so the join waits for it
 * (parked.h), or is told to ask again in a moment, and the word waits here for it.
 *
 *   none --join: DIR_CLAIM--> asked --GRANTED--> granted --the join comes back--> a ticket
 *                               |                   '--nobody comes: DIR_FREE--> none
 *                               |--EXISTS--> taken --the join comes back--> its old ticket
 *                               '--BUSY, link broken, all is said anew--> none
 *
 * A claim that was asked is never forgotten on its link, however late the answer is. Else the
 * answer, of before a DIR_FREE, is taken for the answer to the next claim, after it: this
 * node has a grant that the owner is about to give to somebody else. An answer that was lost
 * (no memory at one end) is made up for by saying everything again: all that was answered
 * before comes before the end of that, and nothing is claimed until then. */
#include "segment/directory/permit.h"

#include <assert.h>
#include <stdlib.h>

#include "segment/core/state.h"
#include "segment/directory/holdings.h"
#include "segment/directory/parked.h"

static struct permit *permit_of(const struct dirs *d, uint64_t hash)
{
    uint64_t i = d->asked.n + d->words.n > 0 ? map_get(&d->by_hash, hash) : MAP_NONE;

    return i != MAP_NONE ? &d->permit[i] : NULL;
}

bool permits_has(const struct dirs *d, uint64_t hash)
{
    const struct permit *c = permit_of(d, hash);

    return c != NULL && c->state != PERMIT_TAKEN;
}

struct permit *permit_asked(const struct dirs *d, uint64_t hash)
{
    struct permit *c = permit_of(d, hash);

    return c != NULL && c->state == PERMIT_ASKED ? c : NULL;
}

static void drop(struct dirs *d, struct permit *c)
{
    parked_word(d, c, false);
    map_del(&d->by_hash, c->hash);
    list_remove(c->state == PERMIT_ASKED ? &d->asked : &d->words, &c->in);
    list_push_front(&d->spare, &c->in);
}

static bool room(struct dirs *d)
{
    if (d->permit == NULL) {
        d->permit = calloc(DIR_PERMITS_MAX, sizeof(*d->permit));
        for (uint32_t i = 0; d->permit != NULL && i < DIR_PERMITS_MAX; i++) {
            list_init(&d->permit[i].parked);
            list_push_back(&d->spare, &d->permit[i].in);
        }
    }
    return d->spare.n > 0;
}

static void ask(struct segtab *t, uint16_t owner, uint64_t hash, struct ticket_id old)
{
    struct dirs *d = &t->dir;
    struct dir_row r = { .hash = hash, .seg = old.seg, .number = old.number };
    struct permit *c;

    if (!room(d))
        return;
    c = container_of(list_first(&d->spare), struct permit, in);
    if (map_set(&d->by_hash, hash, (uint64_t)(c - d->permit)) < 0)
        return;
    list_remove(&d->spare, &c->in);
    list_push_back(&d->asked, &c->in);
    assert(owner < d->n && owner != d->self);
    c->hash = hash;
    c->state = PERMIT_ASKED;
    c->since_ms = t->now.now_ms;
    c->owner = owner;
    c->old = old;
    d->asks = true;
    dir_say(t, owner, DIR_CLAIM, &r);
}

static enum permit_word ask_self(struct segtab *t, uint64_t hash, struct ticket_id old,
                                 struct dir_row *has)
{
    struct dirs *d = &t->dir;
    uint16_t other;
    enum dir_word w = directory_claim(&d->own, (uint16_t)d->self, hash, old, has,
                                      &other);

    if (other != UINT16_MAX)
        dir_check(t, other, hash);
    return w == DIR_GRANTED ? PERMIT_OURS : w == DIR_EXISTS ? PERMIT_HAS : PERMIT_WAIT;
}

static enum permit_word ask_other(struct segtab *t, uint16_t owner, uint64_t hash,
                                  struct ticket_id old, struct dir_row *has)
{
    struct dirs *d = &t->dir;
    struct permit *c = permit_of(d, hash);

    if (d->m[owner].state != DIR_KNOWN)
        return PERMIT_WAIT;
    if (c == NULL)
        ask(t, owner, hash, old);
    if (c == NULL || c->state == PERMIT_ASKED)
        return PERMIT_COMES;
    if (c->old.seg != old.seg || c->old.number != old.number)
        return PERMIT_WAIT;
    assert(c->owner == owner);
    *has = c->has;
    drop(d, c);
    return c->state == PERMIT_GRANTED ? PERMIT_OURS : PERMIT_HAS;
}

enum permit_word segtab_permit(struct segtab *t, uint64_t hash, struct ticket_id old,
                               struct dir_row *has)
{
    struct dirs *d = &t->dir;
    enum permit_word w = PERMIT_WAIT;
    uint16_t owner;

    if (dirs_on(d)) {
        owner = dir_owner(d, hash);
        w = owner == d->self ? ask_self(t, hash, old, has)
                             : ask_other(t, owner, hash, old, has);
    }
    d->n_busy += w == PERMIT_WAIT;
    d->n_exists += w == PERMIT_HAS;
    return w;
}

void segtab_permit_return(struct segtab *t, uint64_t hash)
{
    struct dirs *d = &t->dir;
    struct permit *c = permit_of(d, hash);
    struct dir_row r = { .hash = hash };

    if (!dirs_on(d))
        return;
    if (c != NULL && c->state == PERMIT_ASKED)
        return; /* given back when the word comes and nobody asks for it */
    if (c != NULL)
        drop(d, c);
    if (!dir_holds(t, hash))
        dir_say(t, dir_owner(d, hash), DIR_FREE, &r);
}

void permits_answer(struct segtab *t, uint16_t owner, const struct dir_row *r)
{
    struct dirs *d = &t->dir;
    struct permit *c = permit_of(d, r->hash);

    if (c == NULL || c->owner != owner || c->state != PERMIT_ASKED) {
        if (r->what == DIR_GRANTED && c == NULL)
            segtab_permit_return(t, r->hash); /* no join waits for it any more */
        return;
    }
    if (r->what == DIR_BUSY) {
        drop(d, c);
        return;
    }
    assert(r->what == DIR_GRANTED || r->what == DIR_EXISTS);
    c->state = r->what == DIR_GRANTED ? PERMIT_GRANTED : PERMIT_TAKEN;
    c->has = *r;
    c->since_ms = t->now.now_ms;
    list_remove(&d->asked, &c->in);
    list_push_back(&d->words, &c->in);
    parked_word(d, c, true);
}

static void drop_of(struct dirs *d, struct list *l, uint16_t owner)
{
    list_each (l, it) {
        struct permit *c = container_of(it, struct permit, in);

        if (c->owner == owner)
            drop(d, c);
    }
}

void permits_drop(struct segtab *t, uint16_t owner)
{
    drop_of(&t->dir, &t->dir.asked, owner);
    drop_of(&t->dir, &t->dir.words, owner);
}

void permits_tick(struct segtab *t)
{
    struct dirs *d = &t->dir;
    struct list_node *it;

    while ((it = list_first(&d->words)) != NULL) {
        struct permit *c = container_of(it, struct permit, in);

        if (t->now.now_ms - c->since_ms < DIR_PERMIT_MS)
            break;
        if (c->state == PERMIT_GRANTED)
            segtab_permit_return(t, c->hash);
        else
            drop(d, c);
    }
}

uint16_t permits_overdue(const struct segtab *t)
{
    const struct list_node *it = list_first(&t->dir.asked);
    const struct permit *c = it != NULL ? container_of(it, struct permit, in) : NULL;

    return c != NULL && t->now.now_ms - c->since_ms >= DIR_ANSWER_MS ? c->owner : UINT16_MAX;
}
