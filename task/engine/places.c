/* places.c: all stand, or none does; who stands for a task changes places with it. */
#include "task/engine/places.h"

#include "task/engine/tqueue.h"

static struct task *task_of(const struct engine *e, const struct offer *f)
{
    return task_at(&e->store, f->task);
}

task_no places_task(const struct engine *e, task_slot slot)
{
    const struct offer *f = offers_of(&e->offers, slot);

    return task_number(&e->store, f != NULL ? f->task : slot);
}

void places_drop(struct engine *e, struct offer *f)
{
    for (unsigned i = 0; i < f->n; i++)
        if (f->v[i].slot != f->task) {
            owns_drop(&e->owns, f->v[i].slot);
            tqueue_leave(e, f->v[i].slot);
            e->offers.places--;
        }
    offers_drop(&e->offers, f);
}

int places_adopt(struct engine *e, task_slot slot)
{
    const struct offer *f = e->offers.next;
    int rc = offers_adopt(&e->offers, slot);

    for (unsigned i = 0; rc == 0 && i < f->n; i++)
        task_at(&e->store, f->v[i].slot)->entered_ms = task_of(e, f)->entered_ms;
    return rc;
}

int places_enter(struct engine *e, struct offer *f, bool fresh)
{
    unsigned priority = task_of(e, f)->priority, i;
    int rc = 0;

    for (i = 0; rc == 0 && i < f->n; i++) {
        struct tqueue *q = tqueue_of(e, f->v[i].slot);

        if (fresh)
            f->v[i].entry = q->rank.next;
        rc = fresh ? rank_add(&q->rank, f->v[i].entry, priority) : 0;
        if (!fresh)
            rank_put_back(&q->rank, f->v[i].entry, priority);
    }
    if (rc == 0)
        return 0;
    for (f->v[--i].entry = 0; i-- > 0; f->v[i].entry = 0)
        rank_del(&tqueue_of(e, f->v[i].slot)->rank, f->v[i].entry);
    return rc;
}

void places_stand(struct engine *e, struct offer *f, bool fresh)
{
    const struct task *t = task_of(e, f);

    for (unsigned i = 0; i < f->n; i++) {
        task_slot slot = f->v[i].slot;
        struct tqueue *q = tqueue_of(e, slot);

        if (slot == f->task)
            continue;
        task_at(&e->store, slot)->entry = (uint32_t)f->v[i].entry;
        task_at(&e->store, slot)->entered_ms = t->entered_ms;
        starts_wait(&q->starts, e->at);
        q->units += task_cost(e, f->task);
        tree_wait(&e->tree, slot, fresh ? WAIT_LAST : WAIT_BY_ENTRY);
    }
}

void places_move(struct engine *e, struct offer *f, unsigned to)
{
    struct task *t = task_of(e, f), *other = task_at(&e->store, f->v[to].slot);
    uint32_t turn = t->turn;

    t->turn = other->turn;
    other->turn = turn;
    f->v[f->own].slot = f->v[to].slot;
    f->v[to].slot = f->task;
    f->own = (uint8_t)to;
}

void places_leave(struct engine *e, struct offer *f)
{
    for (unsigned i = 0; i < f->n; i++) {
        task_slot slot = f->v[i].slot;
        struct tqueue *q = tqueue_of(e, slot);

        rank_hold(&q->rank, f->v[i].entry);
        if (slot != f->task)
            tree_unwait(&e->tree, slot);
        if (i != f->at) /* where it starts they leave with its state */
            q->units -= task_cost(e, f->task);
    }
}

void places_home(struct engine *e, struct offer *f)
{
    if (f->own != 0)
        places_move(e, f, 0);
}

void places_finish(struct engine *e, struct offer *f, enum task_state to)
{
    bool waits = task_of(e, f)->state == TASK_WAITING;

    for (unsigned i = 0; i < f->n; i++) {
        task_slot slot = f->v[i].slot;
        struct tqueue *q = tqueue_of(e, slot);

        if (!waits && f->v[i].entry != 0)
            rank_let_go(&q->rank, f->v[i].entry);
        if (waits && slot != f->task) {
            rank_del(&q->rank, f->v[i].entry);
            tree_unwait(&e->tree, slot);
            q->units -= task_cost(e, f->task);
        }
        f->v[i].entry = 0;
    }
    if (to == TASK_DEAD) {
        places_home(e, f);
        return;
    }
    places_tell(e, f, to);
    places_drop(e, f);
}

int places_reach_priority(struct engine *e, const struct offer *f, uint8_t priority)
{
    for (unsigned i = 0; i < f->n; i++) {
        task_slot slot = f->v[i].slot;
        struct rank *row = &tqueue_of(e, slot)->rank;

        if ((f->v[i].entry != 0 && rank_reach_level(row, f->v[i].entry, priority) < 0) ||
            tqueue_other_turn(e, slot, priority) == 0) {
            places_tidy_priority(e, f, priority);
            return SQ_ENOMEM;
        }
    }
    return 0;
}

void places_tidy_priority(struct engine *e, const struct offer *f, uint8_t priority)
{
    for (unsigned i = 0; i < f->n; i++)
        tree_tidy(&e->tree, tqueue_other_turn(e, f->v[i].slot, priority), 0, e->at);
}

void place_set_priority(struct engine *e, task_slot slot, uint32_t turn, uint64_t priority)
{
    tree_leave(&e->tree, slot, e->at);
    task_at(&e->store, slot)->priority = priority & (TASK_PRIORITIES - 1);
    tree_join(&e->tree, slot, turn);
}

void place_set_order(struct engine *e, task_slot slot, int64_t order, bool in_line)
{
    if (in_line)
        tree_unwait(&e->tree, slot);
    task_at(&e->store, slot)->order = order;
    if (in_line)
        tree_wait(&e->tree, slot, WAIT_BY_ENTRY);
}

void places_set_priority(struct engine *e, struct offer *f, uint8_t priority)
{
    bool waits = task_of(e, f)->state == TASK_WAITING;

    for (unsigned i = 0; i < f->n; i++) {
        task_slot slot = f->v[i].slot;
        struct rank *row = &tqueue_of(e, slot)->rank;

        if (slot == f->task)
            continue;
        if (waits) {
            tree_unwait(&e->tree, slot);
            rank_set_level(row, f->v[i].entry, priority);
        }
        place_set_priority(e, slot, tqueue_other_turn(e, slot, priority), priority);
        if (waits)
            tree_wait(&e->tree, slot, WAIT_BY_ENTRY);
    }
}

void places_set_order(struct engine *e, struct offer *f, int64_t order)
{
    for (unsigned i = 0; i < f->n; i++)
        if (f->v[i].slot != f->task)
            place_set_order(e, f->v[i].slot, order, task_of(e, f)->state == TASK_WAITING);
}

void places_tell(struct engine *e, const struct offer *f, enum task_state state)
{
    const struct feed_event v = { task_number(&e->store, f->task), e->at, (uint8_t)state,
                                  (uint8_t)task_of(e, f)->attempts };

    for (unsigned i = 0; e->feeds.by_hash.n > 0 && i < f->n; i++)
        if (f->v[i].slot != f->task)
            feeds_note(&e->feeds, tqueue_of(e, f->v[i].slot)->hash, &v);
}

void places_write(const struct engine *e, task_slot slot, const struct trec *task, struct buf *out)
{
    const struct offer *f = offers_of(&e->offers, slot);

    for (unsigned i = 0; f != NULL && i < f->n; i++) {
        task_slot s = f->v[i].slot;
        const struct tqueue *q = tqueue_of(e, s);
        struct trec r = { .kind = TREC_PLACE, .entry = f->v[i].entry };

        if (s != slot) {
            r.no = task_number(&e->store, s);
            r.name = (struct trec_text){ q->name, q->len };
            r.key1 = task->key1;
            r.key2 = task->key2;
            r.priority = task->priority;
            r.order = task->order;
            r.lo = task_cost(e, slot);
        }
        trec_append(&r, out);
    }
}
