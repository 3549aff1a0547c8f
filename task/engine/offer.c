/* offer.c: places are said before the task; a take says at which of them it starts. */
#include "task/engine/offer.h"

#include <string.h>

#include "task/engine/apply.h"
#include "task/engine/places.h"
#include "task/engine/tqueue.h"

/* ---- submissions -------------------------------------------------------------------- */

struct trec_text offer_next(struct trec_text *list)
{
    const char *comma = list->n > 0 ? memchr(list->p, ',', list->n) : NULL;
    struct trec_text one = { list->p, comma != NULL ? (uint32_t)(comma - list->p) : list->n };

    list->p += one.n + (comma != NULL);
    list->n -= one.n + (comma != NULL);
    return one;
}

static bool is_same(const struct trec_text *a, const struct trec_text *b)
{
    return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* Has the queue come before in the submission? */
static bool is_twice(const struct submit *s, const struct trec_text *name)
{
    struct trec_text list = { s->offer.p, (uint32_t)(name->p - s->offer.p) }, one;

    while ((one = offer_next(&list)).n > 0)
        if (is_same(&one, name))
            return true;
    return is_same(&s->queue, name);
}

/* The state of the task, not begun, that has a place in the queue; FREE: it has none. */
static enum task_state state_in(const struct engine *e, task_no no, const struct tqueue *q)
{
    task_slot slot = no != 0 ? task_find(&e->store, no) : SLOT_NONE;
    const struct offer *f = slot != SLOT_NONE ? offers_of(&e->offers, slot) : NULL;
    enum task_state state = f != NULL ? (enum task_state)task_at(&e->store, slot)->state : TASK_FREE;

    for (unsigned i = 0; task_state_waits(state) && i < f->n; i++)
        if (tqueue_of(e, f->v[i].slot) == q)
            return state;
    return TASK_FREE;
}

static int may_stand_in(struct engine *e, const struct submit *s, const struct pool *p, const struct trec_text *name,
                        task_no other)
{
    const struct tqueue *q = tqueue_find(e, name->p, name->n);
    enum task_state left = q != NULL ? state_in(e, other, q) : TASK_FREE;
    bool full = q != NULL && q->tasks - q->over - (left != TASK_FREE) >= p->rules.max_waiting;
    uint64_t units = q == NULL ? 0 : q->units - (left == TASK_WAITING ? task_cost(e, task_slot_of(other)) : 0);

    if (is_twice(s, name) || tqueue_pool_of(e, name) != p)
        return SQ_EINVAL;
    if (!full && submit_fits_units(e, p, units, s))
        return 0;
    e->full = full ? FULL_WAITING : FULL_UNITS;
    return SQ_EFULL;
}

int offer_may_stand(struct engine *e, const struct submit *s, task_no other)
{
    const struct pool *p = tqueue_pool_of(e, &s->queue);
    struct trec_text list = s->offer, one;
    int rc = p == NULL ? SQ_EUNKNOWN : p->rules.order == ORDER_STRICT ? SQ_EINVAL : 0;

    for (unsigned n = 1; rc == 0 && list.n > 0; n++) {
        one = offer_next(&list);
        rc = one.n == 0 || one.n > TASK_NAME_MAX || n >= OFFER_QUEUES ? SQ_EINVAL : may_stand_in(e, s, p, &one, other);
    }
    return rc;
}

/* Slots that are neither a task's nor a place's. */
static uint32_t free_slots(const struct engine *e)
{
    const struct task_store *s = &e->store;

    return s->n[TASK_FREE] - e->offers.places + (s->max > s->n_slots ? s->max - s->n_slots : 0);
}

static unsigned places_of(struct trec_text list)
{
    unsigned n = 0;

    while (offer_next(&list).n > 0)
        n++;
    return n;
}

void offer_make_room(struct engine *e, const struct submit *s)
{
    unsigned n = places_of(s->offer);

    while (free_slots(e) < n + 1 && engine_give_way(e))
        ;
}

int offer_begin(struct engine *e, const struct submit *s)
{
    struct trec r = { .kind = TREC_PLACE };
    struct trec_text list = s->offer;
    unsigned n = places_of(list);
    int rc;

    e->offers.log_len = e->log.len;
    e->offers.logged_at = e->logged_at;
    e->offers.order = e->store.next_order;
    rc = task_perform(e, &r);
    for (; rc == 0 && n > 0; n--) {
        r = (struct trec){ .kind = TREC_PLACE, .no = task_store_next(&e->store), .name = offer_next(&list),
                           .key1 = s->key1, .key2 = s->key2, .priority = s->priority, .order = s->order,
                           .lo = own_cost(&s->own) };
        e->full = FULL_PART;
        rc = r.no == 0 ? SQ_EFULL : task_perform(e, &r);
    }
    return rc;
}

void offer_undo(struct engine *e)
{
    places_drop(e, e->offers.next);
    e->log.len = e->offers.log_len;
    e->logged_at = e->offers.logged_at;
    e->store.next_order = e->offers.order;
}

/* ---- takes -------------------------------------------------------------------------- */

task_slot offer_take(struct engine *e, task_slot place)
{
    const struct offer *f = offers_of(&e->offers, place);
    struct trec r = { .kind = TREC_AT_PLACE, .no = task_number(&e->store, f->task) };

    while (f->v[r.lo].slot != place)
        r.lo++;
    task_perform_sure(e, &r);
    return f->task;
}
