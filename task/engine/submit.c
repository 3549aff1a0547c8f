/* submit.c: names first, then the task: what fails leaves nothing behind. */
#include "task/engine/submit.h"

#include <string.h>

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/change.h"
#include "task/engine/engine.h"
#include "task/engine/side_records.h"
#include "task/engine/tqueue.h"

/* ---- offer -------------------------------------------------------------------------------- */

/* Places are said before the task; a take says at which of them it starts. */

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

/* Has each further queue room for it? 0; SQ_EINVAL: they are not different queues of one pool whose order is not
 * strict; SQ_EFULL. other: gives way to it; 0: none. */
static int offer_may_stand(struct engine *e, const struct submit *s, task_no other)
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

/* Lets what is over give way to its places. Before its queue is made: a queue goes with its last task. */
static void offer_make_room(struct engine *e, const struct submit *s)
{
    unsigned n = places_of(s->offer);

    while (free_slots(e) < n + 1 && engine_give_way(e))
        ;
}

/* Says its places, before its number is known. As engine_submit(). */
static int offer_begin(struct engine *e, const struct submit *s)
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

/* Takes that back, and all that the log has since. */
static void offer_undo(struct engine *e)
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

#define GIVE_WAY 8 /* tasks for one: below a lowered max_tasks a slot that gets free may be one above it */

static bool is_in_range(const struct submit *s)
{
    return s->queue.n > 0 && s->queue.n <= TASK_NAME_MAX && s->key1.n <= TASK_NAME_MAX &&
           s->key2.n <= TASK_NAME_MAX && (s->key1.n > 0 || s->key2.n == 0) &&
           s->priority < TASK_PRIORITIES && s->delay_ms >= 0 && s->delay_ms <= DELAY_MAX_MS &&
           s->unique_while < UNIQUE_NWHILES && s->on_conflict < UNIQUE_NCONFLICTS &&
           s->then.n <= CHAIN_MAX && s->group.n <= TASK_NAME_MAX && s->at_wall_ms >= 0 && (s->at_wall_ms == 0 || s->delay_ms == 0) && own_ok(&s->own);
}

static struct name_hash hash_of(const struct engine *e, enum name_kind kind,
                                const struct trec_text *queue, const struct trec_text *text)
{
    if (text->n == 0)
        return (struct name_hash){ 0, 0 };
    return names_hash(&e->names, kind, queue->p, queue->n, text->p, text->n);
}

/* Finds what name and key mean already. 0: nothing; 1: the task *no; SQ_ECONFLICT. */
static int known(const struct engine *e, const struct submit *s, const struct name_hash *h,
                 task_no *no)
{
    *no = 0;
    for (unsigned kind = 0; kind < NAME_UNIQUE; kind++) {
        const struct name *n = (h[kind].lo | h[kind].hi) != 0 ? names_find(&e->names, h[kind])
                                                              : NULL;

        if (n == NULL)
            continue;
        if (n->digest != s->digest || (*no != 0 && *no != n->no))
            return SQ_ECONFLICT;
        *no = n->no;
    }
    return *no != 0;
}

/* Decides what becomes of it if another task has its unique key: *other, which it replaces. 0: it goes on;
 * 1: it is the task *no; SQ_EHELD. */
static int unique(const struct engine *e, const struct submit *s, struct name_hash h,
                  struct name *other, task_no *no)
{
    const struct name *n = (h.lo | h.hi) != 0 ? names_find(&e->names, h) : NULL;
    task_slot slot;

    if (n == NULL)
        return 0;
    if (s->on_conflict == UNIQUE_RETURN) {
        *no = n->no;
        return 1;
    }
    slot = task_find(&e->store, n->no);
    if (s->on_conflict == UNIQUE_REJECT ||
        (slot != SLOT_NONE && task_at(&e->store, slot)->state == TASK_RUNNING))
        return SQ_EHELD;
    *other = *n;
    return 0;
}

/* Undoes that: the other one has its unique key again, unless it gave way. */
static void give_back(struct engine *e, const struct name *other)
{
    int rc = task_find(&e->store, other->no) == SLOT_NONE || names_find(&e->names, other->hash) != NULL
                 ? 0
                 : names_add(&e->names, (enum name_kind)other->kind, other->hash, other->no,
                             other->digest);

    assert(rc == 0); /* the room that it had is there */
    (void)rc;
}

static void forget_names(struct engine *e, task_no no)
{
    names_end(&e->names, no, e->at);
    names_gone(&e->names, no);
    names_advance(&e->names, e->at);
}

static int is_full(struct engine *e, enum task_full by)
{
    e->full = (uint8_t)by;
    return SQ_EFULL;
}

static int perform_chain(struct engine *e, const struct submit *s, task_no no)
{
    const struct chain k = { .after_part = s->after_part, .after_no = s->after_no,
                             .state = s->then.n > 0 ? CHAIN_WAITS : CHAIN_NONE, .n = s->then.n,
                             .then = (char *)(uintptr_t)s->then.p };
    struct trec r = task_chain_record(no, &k);

    return task_perform(e, &r);
}

int engine_chain(struct engine *e, task_no no, const struct chain *is)
{
    struct trec r = task_chain_record(no, is);

    return task_find(&e->store, no) == SLOT_NONE ? SQ_EUNKNOWN : task_perform(e, &r);
}

/* Carries out names, what it has of its own and what is behind it, then the task; all of it goes
 * into the log, or nothing. */
static int perform_all(struct engine *e, const struct submit *s, const struct trec *name,
                       struct trec *accept)
{
    size_t len = e->log.len;
    msec_t logged_at = e->logged_at;
    int rc = own_is_none(&s->own) ? 0 : task_perform_own(e, accept->no, &s->own);

    if (rc == 0 && (s->then.n > 0 || s->after_no != 0))
        rc = perform_chain(e, s, accept->no);
    if (rc == 0 && s->group.n > 0)
        rc = group_enter(e, s, accept->no);

    for (unsigned kind = 0; rc == 0 && kind < NAMES_OF_TASK; kind++)
        if ((name[kind].lo | name[kind].hi) != 0)
            rc = task_perform(e, &name[kind]);
    if (rc == 0)
        rc = task_perform(e, accept);
    if (rc < 0) {
        forget_names(e, accept->no);
        owns_drop(&e->owns, task_slot_of(accept->no));
        chains_drop(&e->chains, task_slot_of(accept->no));
        groups_unjoin(&e->groups, task_slot_of(accept->no));
        e->log.len = len;
        e->logged_at = logged_at;
    }
    return rc == SQ_EFULL ? is_full(e, FULL_NAMES) : rc;
}

static int accept_now(struct engine *e, const struct submit *s, const struct tqueue *q,
                      uint64_t body, const struct name_hash *h, task_no no)
{
    bool waits = submit_starts_at_once(e, s);
    struct trec name[NAMES_OF_TASK];
    struct trec r = { .kind = TREC_ACCEPT, .no = no, .name = s->queue, .key1 = s->key1,
                      .key2 = s->key2, .priority = s->priority, .order = s->order,
                      .body = body, .entered = (uint64_t)e->at,
                      .state = waits ? TASK_WAITING : TASK_SCHEDULED,
                      .wall = !waits && s->at_wall_ms != 0 };

    r.until = waits ? task_expiry(e, q->pool, &s->own)
              : r.wall ? (uint64_t)s->at_wall_ms
                       : task_end_of(e, (uint64_t)s->delay_ms);
    for (unsigned kind = 0; kind < NAMES_OF_TASK; kind++)
        name[kind] = (struct trec){ .kind = TREC_NAME, .no = no,
                                    .kind_of = kind + (kind == NAME_UNIQUE ? s->unique_while : 0),
                                    .lo = h[kind].lo, .hi = h[kind].hi, .digest = s->digest };
    return perform_all(e, s, name, &r);
}

/* Checks its group and its further queues; most have neither. */
static int may_enter(struct engine *e, const struct submit *s, task_no other)
{
    int rc = s->group.n > 0 ? group_may_enter(e, s) : 0;

    return rc == 0 && s->offer.n > 0 ? offer_may_stand(e, s, other) : rc;
}

struct left { /* room that a task leaves, which the new one replaces */
    uint32_t tasks;
    uint64_t units, bytes;
};

static struct left left_by(const struct engine *e, const struct name *other)
{
    task_slot slot = other->no != 0 ? task_find(&e->store, other->no) : SLOT_NONE;

    return slot != SLOT_NONE && task_state_waits((enum task_state)task_at(&e->store, slot)->state)
               ? (struct left){ 1, task_cost(e, slot), task_bytes(&e->store, slot) } : (struct left){ 0 };
}

/* Refuses a task that is new and has no room; else what is over gives way to it, and its payload is kept:
 * *body. Before its queue is made: a queue goes with its last task. */
static int make_room(struct engine *e, const struct submit *s, const struct left *left, uint64_t *body)
{
    const struct tqueue *q = tqueue_find(e, s->queue.p, s->queue.n);
    const struct pool *p = q != NULL ? q->pool : tqueue_pool_of(e, &s->queue);
    int rc;

    *body = s->body;
    if (p == NULL)
        return SQ_EUNKNOWN;
    if (p->rules.max_cost != 0 && own_cost(&s->own) > p->rules.max_cost)
        return SQ_EINVAL;
    if (q != NULL && q->tasks - q->over - left->tasks >= p->rules.max_waiting)
        return is_full(e, FULL_WAITING);
    if (!submit_fits_units(e, p, q != NULL ? q->units - left->units : 0, s))
        return is_full(e, FULL_UNITS);
    if (p->rules.max_bytes != 0 && e->store.bytes - left->bytes + s->bytes > p->rules.max_bytes)
        return is_full(e, FULL_BYTES);
    if (s->then.n > 0 && e->chains.bytes + s->then.n > CHAINS_BYTES_MAX)
        return is_full(e, FULL_CHAINS);
    if (task_store_is_full(&e->store) && e->overs.n == 0)
        return is_full(e, FULL_PART);
    rc = s->admit != NULL ? s->admit(s->ctx, body) : 0;
    for (unsigned i = 0; rc == 0 && i < GIVE_WAY && task_store_is_full(&e->store); i++)
        rc = engine_give_way(e) ? 0 : is_full(e, FULL_PART);
    return rc != 0 ? rc : task_store_is_full(&e->store) ? is_full(e, FULL_PART) : 0;
}

int engine_submit(struct engine *e, const struct submit *s, task_no *no)
{
    struct name_hash h[NAMES_OF_TASK];
    struct name other = { .no = 0 };
    const struct tqueue *q;
    struct left left;
    uint64_t body;
    uint32_t index;
    int rc;

    *no = 0;
    if (e->fenced)
        return SQ_ESTALE;
    if (!is_in_range(s) || s->at_wall_ms > e->wall_at + DELAY_MAX_MS)
        return SQ_EINVAL;
    h[NAME_NAME] = hash_of(e, NAME_NAME, &s->queue, &s->name);
    h[NAME_KEY] = hash_of(e, NAME_KEY, &s->queue, &s->key);
    h[NAME_UNIQUE] = hash_of(e, NAME_UNIQUE, &s->queue, &s->unique);
    rc = known(e, s, h, no);
    if (rc == 0)
        rc = unique(e, s, h[NAME_UNIQUE], &other, no);
    if (rc == 0 && (s->group.n | s->offer.n) > 0)
        rc = may_enter(e, s, other.no);
    if (rc != 0) {
        e->counts.same += rc == 1;
        return rc;
    }
    left = left_by(e, &other);
    rc = make_room(e, s, &left, &body);
    if (rc == 0 && s->offer.n > 0)
        offer_make_room(e, s);
    if (rc == 0)
        rc = tqueue_get(e, &s->queue, &index);
    if (rc < 0)
        return rc;
    q = tqueue_at(e, index);
    if (s->offer.n > 0)
        rc = offer_begin(e, s);
    *no = rc == 0 ? task_store_next(&e->store) : 0;
    rc = rc < 0 ? rc : *no == 0 ? is_full(e, FULL_PART) : s->named != NULL ? s->named(s->ctx, *no) : 0;
    if (rc == 0)
        rc = accept_now(e, s, q, body, h, *no);
    if (rc < 0) {
        *no = 0;
        give_back(e, &other);
        if (e->offers.next != NULL)
            offer_undo(e);
        if (tqueue_at(e, index)->pool != NULL)
            tqueue_tidy(e, index);
        return rc;
    }
    if (other.no != 0)
        (void)!engine_cancel(e, other.no); /* unless it is final */
    e->counts.accepted++;
    return 0;
}

bool engine_may_promise(const struct engine *e, task_no no)
{
    task_no was = e->promise[task_slot_of(no) % PROMISES].no;
    task_slot slot = was != 0 ? task_find(&e->store, was) : SLOT_NONE;

    return e->at - e->promised >= PROMISE_EACH_MS &&
           (slot == SLOT_NONE || task_at(&e->store, slot)->state != TASK_WAITING);
}

void engine_promise(struct engine *e, task_no no, msec_t wait_ms, msec_t told_ms)
{
    if (wait_ms >= 0 || told_ms >= 0)
        e->promise[task_slot_of(no) % PROMISES] = (struct promise){ no, e->at, wait_ms, told_ms };
    e->promised = e->at;
}

task_no engine_named(const struct engine *e, const struct trec_text *queue,
                     const struct trec_text *name)
{
    const struct name *n = names_find(&e->names, hash_of(e, NAME_NAME, queue, name));

    return n != NULL ? n->no : 0;
}
