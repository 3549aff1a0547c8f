/* arrive.c: what may fail comes first; then nothing does. */
#include "task/engine/arrive.h"

#include <stdlib.h>
#include <string.h>

#include "task/engine/side_records.h"
#include "task/engine/tqueue.h"

static bool is_time(uint64_t ms)
{
    return ms < (uint64_t)WHEEL_MAX;
}

void task_arm(struct engine *e, task_slot slot, uint64_t until)
{
    const struct task *t = task_at(&e->store, slot);
    struct wheel *w = task_is_over(t) ? &e->overs : &e->timers;

    wheel_clear(t->state == TASK_SCHEDULED && t->cancel ? &e->walls : w, slot);
    if (until != 0)
        wheel_set(w, slot, (msec_t)until);
}

static int begin(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    uint32_t queue, turn;
    struct task *t;
    int rc;

    if (r->no >> TASK_SLOT_BITS == 0 || slot >= e->store.max || r->priority >= TASK_PRIORITIES ||
        r->state >= TASK_NSTATES || !is_time(r->until) || !is_time(r->entered))
        return SQ_EPROTO;
    rc = tqueue_get(e, &r->name, &queue);
    if (rc < 0)
        return rc;
    rc = pages_reach(&e->links, slot);
    turn = rc < 0 ? 0 : tqueue_turn(e, queue, (uint8_t)r->priority, &r->key1, &r->key2);
    rc = turn == 0 ? SQ_ENOMEM : task_store_put(&e->store, r->no);
    if (rc < 0) {
        tree_tidy(&e->tree, turn, 0, e->at);
        tqueue_tidy(e, queue);
        return rc;
    }
    t = task_at(&e->store, slot);
    t->priority = r->priority & (TASK_PRIORITIES - 1);
    t->order = r->order;
    t->body = r->body;
    t->entered_ms = r->entered & (WHEEL_MAX - 1);
    tree_join(&e->tree, slot, turn);
    tqueue_at(e, queue)->tasks++;
    return 0;
}

static void end(struct engine *e, task_slot slot)
{
    owns_drop(&e->owns, slot);
    chains_drop(&e->chains, slot);
    attempts_drop(&e->attempts, slot);
    settled_drop(&e->settled, slot);
    tqueue_leave(e, slot);
}

static void schedule(struct engine *e, task_slot slot, const struct trec *r)
{
    tqueue_set_state(e, slot, TASK_SCHEDULED);
    task_at(&e->store, slot)->cancel = r->wall != 0;
    wheel_set(r->wall != 0 ? &e->walls : &e->timers, slot, (msec_t)r->until);
}

void arrive_first(struct engine *e, task_slot slot)
{
    task_at(&e->store, slot)->cancel = 1;
    line_add(&tqueue_of(e, slot)->first, &e->store, slot, false);
    e->firsts++;
}

static int enter(struct engine *e, task_slot slot, const struct trec *r, enum place to)
{
    struct task *t = task_at(&e->store, slot);
    struct tqueue *q = tqueue_of(e, slot);
    uint64_t entry = q->rank.next;
    int rc = !is_time(r->entered) || !is_time(r->until) ? SQ_EPROTO
             : to == PLACE_FRONT                        ? rank_add_first(&q->rank, &entry, t->priority)
                                                        : rank_add(&q->rank, entry, t->priority);

    if (rc < 0)
        return rc;
    starts_wait(&q->starts, e->at);
    if (t->state == TASK_DEAD)
        dead_remove(e, slot);
    task_arm(e, slot, r->until);
    t->cancel = 0;
    tqueue_begins_to_wait(e, q, slot);
    t->entry = (uint32_t)entry;
    if (to != PLACE_FRONT)
        t->entered_ms = r->entered & (WHEEL_MAX - 1);
    if (to == PLACE_FIRST)
        arrive_first(e, slot);
    else
        tree_wait(&e->tree, slot, to == PLACE_FRONT ? WAIT_FIRST : WAIT_LAST);
    return 0;
}

/* The same in all of its places: where it stood before, as old as it was; or, fresh, at the ends. */
static int enter_all(struct engine *e, struct offer *f, const struct trec *r, bool first)
{
    struct task *t = task_at(&e->store, f->task);
    bool fresh = f->v[0].entry == 0;
    int rc = !is_time(r->entered) || !is_time(r->until) ? SQ_EPROTO : places_enter(e, f, fresh);

    if (rc < 0)
        return rc;
    starts_wait(&tqueue_of(e, f->task)->starts, e->at);
    if (t->state == TASK_DEAD)
        dead_remove(e, f->task);
    task_arm(e, f->task, r->until);
    t->cancel = 0;
    tqueue_set_state(e, f->task, TASK_WAITING);
    t->entry = (uint32_t)f->v[f->own].entry;
    if (fresh)
        t->entered_ms = r->entered & (WHEEL_MAX - 1);
    if (first)
        arrive_first(e, f->task);
    else
        tree_wait(&e->tree, f->task, fresh ? WAIT_LAST : WAIT_BY_ENTRY);
    places_stand(e, f, fresh);
    return 0;
}

int arrive_enter(struct engine *e, task_slot slot, const struct trec *r, enum place to)
{
    struct offer *f = offers_of(&e->offers, slot);

    return f == NULL ? enter(e, slot, r, to) : enter_all(e, f, r, to == PLACE_FIRST);
}

int arrive_place(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    const struct task_own own = { .cost = r->lo + 1, .labels = "" };
    int rc;

    if (r->no == 0)
        return offers_add(&e->offers, SLOT_NONE, r->entry);
    if (r->lo > TASK_COST_MAX)
        return SQ_EPROTO;
    rc = begin(e, r);
    if (rc < 0)
        return rc;
    rc = tqueue_rules(e, slot)->order == ORDER_STRICT ? SQ_EPROTO : r->lo > 1 ? tree_reach_costs(&e->tree) : 0;
    if (rc == 0 && r->lo > 1)
        rc = owns_set(&e->owns, slot, &own);
    if (rc == 0)
        rc = offers_add(&e->offers, slot, r->entry);
    if (rc < 0)
        end(e, slot);
    e->offers.places += rc == 0;
    return rc;
}

/* Undoes an acceptance that found no memory. */
static void unaccept(struct engine *e, task_slot slot, uint64_t order)
{
    struct offer *f = offers_of(&e->offers, slot);

    if (f != NULL)
        offers_orphan(&e->offers, f);
    end(e, slot);
    e->store.next_order = order;
}

int arrive_accept(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    uint64_t order = e->store.next_order;
    bool offered = e->offers.next != NULL;
    int rc = r->state == TASK_WAITING || (r->state == TASK_SCHEDULED && r->until != 0)
                 ? begin(e, r)
                 : SQ_EPROTO;

    if (rc < 0)
        return rc;
    if (offered)
        rc = places_adopt(e, slot);
    if (rc == 0 && r->state == TASK_SCHEDULED)
        schedule(e, slot, r);
    else if (rc == 0)
        rc = offered ? arrive_enter(e, slot, r, PLACE_END) : enter(e, slot, r, PLACE_END);
    if (rc < 0)
        unaccept(e, slot, order);
    return rc;
}

/* Through the states that lead to it. */
static void reach_state(struct engine *e, task_slot slot, enum task_state s)
{
    tqueue_set_state(e, slot, TASK_WAITING);
    if (s == TASK_CANCELLED || s == TASK_EXPIRED) {
        tqueue_set_state(e, slot, s);
    } else if (s != TASK_WAITING) {
        tqueue_set_state(e, slot, TASK_RUNNING);
        if (s != TASK_RUNNING)
            tqueue_set_state(e, slot, s);
    }
}

int arrive_task(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    bool possible = r->state != TASK_FREE && r->attempts <= ATTEMPTS_MAX &&
                    (r->state != TASK_RUNNING || r->attempts > 0) &&
                    (r->state != TASK_CANCELLED || r->wall == 0 || r->until != 0);
    int rc = possible ? begin(e, r) : SQ_EPROTO;
    struct task *t;

    if (rc < 0)
        return rc;
    rc = e->offers.next != NULL ? places_adopt(e, slot) : 0;
    if (rc < 0)
        return rc;
    t = task_at(&e->store, slot);
    t->attempts = r->attempts & 63;
    if (r->state == TASK_SCHEDULED) {
        schedule(e, slot, r);
        return 0;
    }
    reach_state(e, slot, (enum task_state)r->state);
    t->cancel = (r->state == TASK_RUNNING || r->state == TASK_WAITING ||
                 r->state == TASK_RETRYING || r->state == TASK_CANCELLED) && r->wall != 0;
    task_arm(e, slot, r->until);
    e->cuts += task_is_cut(t);
    if (r->state == TASK_RUNNING || r->state == TASK_RETRYING || task_is_cut(t))
        tree_resume(&e->tree, slot, r->state != TASK_RETRYING);
    if (r->state == TASK_RUNNING || r->state == TASK_SUCCEEDED || r->state == TASK_CANCELLED)
        t->started = r->entry & (WHEEL_MAX - 1);
    if (r->state == TASK_RUNNING)
        t->lease = r->lease;
    else if (r->state == TASK_SUCCEEDED || r->state == TASK_CANCELLED || r->state == TASK_EXPIRED)
        over_begins(e, slot, r->lease);
    if (r->state == TASK_WAITING || r->state == TASK_DEAD)
        t->lease = r->entry; /* where its line will be, until arrive_end() */
    return 0;
}

struct listed { /* waits, or is dead */
    uint32_t queue;
    uint64_t entry;
    task_slot slot;
    bool held; /* place of an offered task that does not wait */
};

static int compare(const void *pa, const void *pb)
{
    const struct listed *a = pa, *b = pb;

    if (a->queue != b->queue)
        return a->queue < b->queue ? -1 : 1;
    if (a->entry != b->entry)
        return a->entry < b->entry ? -1 : 1;
    return a->slot < b->slot ? -1 : 1;
}

/* Places of offered tasks. One that waits is in its own already. How many. */
static size_t collect_places(struct engine *e, struct listed *v)
{
    uint64_t slot, val;
    size_t n = 0;

    for (size_t at = 0; (at = map_next(&e->offers.by_slot, at, &slot, &val)) != 0;) {
        const struct offer *f = (const struct offer *)(uintptr_t)val;
        bool waits = f->task != SLOT_NONE && task_at(&e->store, f->task)->state == TASK_WAITING;

        for (unsigned i = 0; f->task == slot && i < f->n; i++)
            if (f->v[i].entry != 0 && !(waits && i == f->own))
                v[n++] = (struct listed){ tqueue_index(e, f->v[i].slot), f->v[i].entry, f->v[i].slot, !waits };
    }
    return n;
}

/* All that wait or are dead; how many. */
static size_t collect(struct engine *e, struct listed *v)
{
    size_t n = 0;

    for (task_slot s = 0; s < e->store.n_slots; s++) {
        struct task *t = task_at(&e->store, s);
        struct listed *l = &v[n];

        if (t->state != TASK_WAITING && t->state != TASK_DEAD)
            continue;
        *l = (struct listed){ .entry = t->lease, .slot = s };
        l->queue = tqueue_index(e, s);
        t->lease = 0;
        n++;
    }
    return n;
}

static void get_in_line(struct engine *e, task_slot slot)
{
    const struct task *t = task_at(&e->store, slot);

    if (t->state == TASK_DEAD)
        dead_add(e, slot);
    else if (t->cancel)
        arrive_first(e, slot);
    else
        tree_wait(&e->tree, slot, WAIT_LAST);
}

int arrive_end(struct engine *e)
{
    size_t n = e->store.n[TASK_WAITING] + e->store.n[TASK_DEAD];
    struct listed *v = calloc(n + (size_t)e->offers.n * OFFER_QUEUES + 1, sizeof(*v));
    int rc = v == NULL ? SQ_ENOMEM : 0;

    if (rc == 0 && collect(e, v) != n)
        assert(!"states are counted");
    n += rc == 0 ? collect_places(e, v + n) : 0;
    if (rc == 0)
        qsort(v, n, sizeof(*v), compare);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct rank *row = &tqueue_at(e, v[i].queue)->rank;
        struct task *t = task_at(&e->store, v[i].slot);

        if (t->state == TASK_DEAD && !v[i].held)
            continue;
        row->next = row->n == 0 && row->n_chunks == 0 ? v[i].entry : row->next;
        rc = v[i].entry < row->next ? SQ_EPROTO : rank_add(row, v[i].entry, t->priority);
        if (rc == 0 && v[i].held)
            rank_hold(row, v[i].entry);
        else
            t->entry = (uint32_t)v[i].entry;
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (v[i].held)
            continue;
        get_in_line(e, v[i].slot);
        if (task_at(&e->store, v[i].slot)->state == TASK_FREE)
            tqueue_at(e, v[i].queue)->units += task_cost(e, v[i].slot);
    }
    for (task_slot s = 0; rc == 0 && s < e->store.n_slots; s++)
        if (task_state_waits((enum task_state)task_at(&e->store, s)->state))
            tqueue_count_units(e, s, task_cost(e, s), 0);
    free(v);
    return rc;
}

static void frees(struct engine *e, uint64_t body)
{
    if (body != 0)
        buf_append(&e->freed, &body, sizeof(body)); /* without memory: until the next start */
}

void task_frees_body(struct engine *e, task_slot slot)
{
    frees(e, task_at(&e->store, slot)->body);
}

void task_frees_reply(struct engine *e, task_slot slot)
{
    frees(e, replies_of(&e->replies, slot));
    replies_drop(&e->replies, slot);
}

int arrive_reply(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);
    uint64_t was = slot != SLOT_NONE ? replies_of(&e->replies, slot) : 0;
    int rc;

    if (slot == SLOT_NONE || task_at(&e->store, slot)->state == TASK_SUCCEEDED ||
        r->body == MAP_NONE)
        return SQ_EPROTO;
    if (r->body == 0) {
        task_frees_reply(e, slot);
        return 0;
    }
    rc = replies_set(&e->replies, slot, r->body);
    if (rc == 0)
        frees(e, was);
    return rc;
}

void over_begins(struct engine *e, task_slot slot, uint64_t at)
{

    task_at(&e->store, slot)->ended = at & (WHEEL_MAX - 1);
    tqueue_of(e, slot)->over++;
}

static void over_ends(struct engine *e, task_slot slot)
{
    struct tqueue *q = tqueue_of(e, slot);

    assert(q->over > 0);
    q->over--;
}

void arrive_gone(struct engine *e, task_slot slot)
{
    struct offer *f = offers_of(&e->offers, slot);

    if (f != NULL) /* dead */
        places_drop(e, f);
    if (task_at(&e->store, slot)->state == TASK_DEAD)
        dead_remove(e, slot);
    else
        over_ends(e, slot);
    task_frees_body(e, slot);
    task_frees_reply(e, slot);
    task_arm(e, slot, 0);
    names_gone(&e->names, task_number(&e->store, slot));
    tqueue_set_state(e, slot, TASK_FREE);
    end(e, slot);
}
