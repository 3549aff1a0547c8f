/* side_records.c: a group, with its counts in a snapshot; a task in it; windows. Of places all
 * stand, or none does; who stands for a task changes places with it. */
#include "task/engine/side_records.h"

#include <string.h>

#include "common/base/buf.h"
#include "common/recur/recur.h"
#include "task/engine/tqueue.h"
#include "task/keys/buckets.h"

/* ---- groups -------------------------------------------------------------------------- */

struct trec group_record(const struct group *k, uint8_t flags)
{
    return (struct trec){ .kind = TREC_GROUP, .lo = k->id, .hi = k->hash, .state = flags,
                          .name = { k->text, k->queue_n }, .key1 = { k->text + k->queue_n, k->name_n } };
}

static int apply_group(struct engine *e, const struct trec *r)
{
    const uint8_t *p = (const uint8_t *)r->own.p, *end = p + r->own.n;
    struct group *k;
    int rc;

    if (r->state > (GROUP_SEALED | GROUP_CANCELLING) || r->until >= (uint64_t)WHEEL_MAX)
        return SQ_EPROTO;
    rc = groups_set(&e->groups, r->lo, r->hi, r->name.p, r->name.n, r->key1.p, r->key1.n, (uint8_t)r->state);
    if (rc < 0 || r->own.n == 0)
        return rc;
    k = map_get_ptr(&e->groups.by_id, r->lo);
    k->since = (msec_t)r->until;
    for (int s = 0; s < TASK_NSTATES; s++) {
        uint64_t n;

        p = varint_get(p, end, &n);
        if (p == NULL || n > UINT32_MAX)
            return SQ_EPROTO;
        k->n[s] = (uint32_t)n;
    }
    return 0;
}

int group_apply(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);

    if (r->kind == TREC_GROUP)
        return apply_group(e, r);
    if (r->kind == TREC_GROUP_GONE)
        return groups_drop(&e->groups, r->lo);
    if (r->no >> TASK_SLOT_BITS == 0 || slot >= e->store.max ||
        (e->loading ? task_find(&e->store, r->no) == SLOT_NONE : task_find(&e->store, r->no) != SLOT_NONE))
        return SQ_EPROTO;
    return groups_join(&e->groups, slot, r->lo);
}

/* Into a snapshot. */
static void write(const struct group *k, struct buf *out)
{
    struct trec r = group_record(k, k->flags);
    struct buf b;

    buf_init(&b);
    for (int s = 0; s < TASK_NSTATES; s++)
        buf_varint(&b, k->n[s]);
    r.own = (struct trec_text){ (const char *)b.data, (uint32_t)b.len };
    r.until = k->first == 0 ? (uint64_t)k->since : 0;
    trec_append(&r, out);
    out->failed |= b.failed;
    buf_fini(&b);
}

void group_write_all(const struct engine *e, struct buf *out)
{
    list_each (&e->groups.empty, it)
        write(container_of(it, struct group, in), out);
    for (uint32_t i = 0; i < e->groups.n_v; i++)
        if (e->groups.v[i] != NULL && e->groups.v[i]->first != 0)
            write(e->groups.v[i], out);
}

/* ---- calendar windows ---------------------------------------------------------------- */

int window_apply(struct engine *e, const struct trec *r)
{
    const struct window w = { r->hi, (int64_t)r->wall, (int64_t)r->entered, r->lease, .emptied = r->state != 0 };
    const struct window *is;

    if (r->lo < RATE_NPERS || r->lo >= UNIT_WINDOWS || r->name.n > ZONE_NAME_MAX || (r->wall | r->entered) > INT64_MAX)
        return SQ_EPROTO;
    if (r->hi == 0)
        return windows_name(&e->tree, (unsigned)r->lo / RATE_NPERS, r->name.p, r->name.n);
    is = window_at(&e->tree, (uint8_t)r->lo);
    if (is == NULL || (is->no != 0 && r->hi != is->no + 1) || w.from_ms >= w.to_ms)
        return SQ_EPROTO;
    window_begins(&e->tree, (uint8_t)r->lo, &w, e->at);
    return 0;
}

static bool wants(const struct engine *e, const struct key_rule *r, uint32_t n)
{
    bool known = true;

    for (uint32_t i = 0; i < n; i++)
        for (unsigned k = 0; k < UNIT_RATES_MAX; k++) {
            struct window *w = window_at(&e->tree, r[i].units[k].window);

            known &= r[i].units[k].window == 0 || w != NULL;
            if (w != NULL)
                w->wanted = true;
        }
    return known;
}

bool windows_want(struct engine *e)
{
    bool known = true;

    for (unsigned k = 0; e->tree.windows != NULL && k < UNIT_WINDOWS; k++)
        e->tree.windows->v[k].wanted = false;
    for (uint32_t i = 0; i < e->n_pools; i++) {
        const struct pool *p = e->pool[i];

        known &= wants(e, p->level, TASK_KEY_LEVELS);
        known &= wants(e, p->keys.pin, p->keys.n_pinned);
        known &= wants(e, p->keys.pattern, p->keys.n - p->keys.n_pinned);
    }
    e->windows_at = e->tree.windows != NULL ? 0 : MSEC_NEVER;
    return known;
}

void windows_write(const struct engine *e, struct buf *out)
{
    for (unsigned k = RATE_NPERS; e->tree.windows != NULL && k < UNIT_WINDOWS; k++) {
        const char *zone = e->tree.windows->zone[k / RATE_NPERS];
        const struct window *w = &e->tree.windows->v[k];
        struct trec r = { .kind = TREC_WINDOW, .lo = k };

        if (zone != NULL && k % RATE_NPERS == 0) {
            r.name = (struct trec_text){ zone, (uint32_t)strlen(zone) };
            trec_append(&r, out);
        }
        if (w->no == 0)
            continue;
        r = (struct trec){ .kind = TREC_WINDOW, .lo = k, .hi = w->no, .wall = (uint64_t)w->from_ms,
                           .entered = (uint64_t)w->to_ms, .lease = w->lease, .state = w->emptied };
        trec_append(&r, out);
    }
}

/* ---- places of an offered task ------------------------------------------------------- */

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
