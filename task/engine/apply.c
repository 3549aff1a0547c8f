/* apply.c: one function per kind of record, in the order of a task's life. */
#include "task/engine/apply.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "task/engine/arrive.h"
#include "task/engine/leave.h"
#include "task/engine/side_records.h"
#include "task/engine/tqueue.h"

#define BIT(S) (1u << TASK_##S)

/* A shorter life of results is one of those that are there. */
static void shorten_lives(struct engine *e, const struct pool *p)
{
    for (task_slot s = 0; s < e->store.n_slots; s++) {
        const struct task *t = task_at(&e->store, s);
        msec_t end = (msec_t)u64_min(t->ended + u64_max(p->rules.result_ms, 1), (uint64_t)WHEEL_MAX - 1);

        if (task_is_over(t) && end < wheel_when(&e->overs, s) && tqueue_of(e, s)->pool == p)
            task_arm(e, s, (uint64_t)end);
    }
}

static int apply_pool(struct engine *e, const struct trec *r)
{
    struct pool *p = tqueue_pool(e, &r->name);
    struct task_rules rules;
    int rc = rules_decode(&rules, r->rules.p, r->rules.n);

    if (rc == 0 && (rules.queue_units_1 | rules.key_units_1 | rules.below_units_1) != 0)
        rc = tree_reach_units(&e->tree);
    if (rc < 0)
        return rc;
    if (p != NULL) {
        bool shorter = rules.result_ms < p->rules.result_ms;

        rules.order = p->rules.order; /* lines stand in it */
        pool_set_rules(p, &rules);
        if (shorter)
            shorten_lives(e, p);
        allowance_rules(&e->allowance, &e->pool[0]->rules, e->at);
        tree_reconsider(&e->tree, e->at);
        return windows_want(e) ? 0 : SQ_EPROTO;
    }
    if (!GROW(e->pool, e->n_pools, e->pools_cap, 4) || (p = calloc(1, sizeof(*p))) == NULL)
        return SQ_ENOMEM;
    p->match = strndup(r->name.p, r->name.n);
    if (p->match == NULL) {
        free(p);
        return SQ_ENOMEM;
    }
    pool_set_rules(p, &rules);
    e->pool[e->n_pools++] = p;
    /* a node gives each pool its partitions */
    allowance_rules(&e->allowance, &e->pool[0]->rules, e->at);
    return windows_want(e) ? 0 : SQ_EPROTO;
}

static int apply_keys(struct engine *e, const struct trec *r)
{
    struct pool *p = tqueue_pool(e, &r->name);
    struct key_rules was;
    int rc;

    if (p == NULL)
        return SQ_EUNKNOWN;
    was = p->keys;
    rc = key_rules_read(&p->keys, r->rules.p, r->rules.n);
    for (uint32_t i = 0; rc == 0 && i < p->keys.n; i++)
        if (p->keys.v[i].units_1 != 0)
            rc = tree_reach_units(&e->tree);
    if (rc < 0) {
        if (p->keys.v != was.v)
            key_rules_free(&p->keys);
        p->keys = was;
        return rc;
    }
    if (key_rules_take_patterns(&p->keys, &was)) {
        tqueue_pins_anew(e, &was);
        tqueue_pins_anew(e, &p->keys);
    } else {
        tqueue_rules_anew(e);
    }
    key_rules_free(&was);
    return windows_want(e) ? 0 : SQ_EPROTO;
}

static int apply_at(struct engine *e, const struct trec *r)
{
    if (r->until >= (uint64_t)WHEEL_MAX)
        return SQ_EPROTO;
    e->at = e->logged_at = (msec_t)r->until;
    names_advance(&e->names, e->at); /* like the clock: a key may be used again */
    tree_advance(&e->tree, e->at);   /* and limiters go */
    return 0;
}

/* Lives stand while the node stands: delays, back-offs and leases do not. */
static int apply_stood(struct engine *e, const struct trec *r)
{
    for (task_slot s = 0; s < e->store.n_slots; s++) {
        enum task_state state = (enum task_state)task_at(&e->store, s)->state;
        msec_t when = wheel_when(&e->timers, s);

        if (when != 0 && !task_is_cut(task_at(&e->store, s)) &&
            (state == TASK_WAITING || task_state_is_final(state)))
            task_arm(e, s, u64_min((uint64_t)when + r->until, (uint64_t)WHEEL_MAX - 1));
    }
    return 0;
}

static int apply_name(struct engine *e, const struct trec *r)
{
    struct name_hash h = { r->lo, r->hi };
    const struct name *other = r->kind_of >= NAME_UNIQUE ? names_find(&e->names, h) : NULL;
    int rc;

    if (other != NULL) /* passes to this one */
        names_drop(&e->names, other);
    rc = r->kind_of >= NAME_NKINDS || r->no == 0 || (r->lo | r->hi) == 0 ||
                     r->until >= (uint64_t)WHEEL_MAX
                 ? SQ_EPROTO
                 : names_add(&e->names, (enum name_kind)r->kind_of, h, r->no, r->digest);

    if (rc == 0 && r->until != 0)
        names_end(&e->names, r->no, (msec_t)r->until);
    return rc;
}

/* The slot is the task's, or free: it may come behind this. */
static bool is_slot_of(const struct engine *e, task_slot slot, task_no no)
{
    return slot >= e->store.n_slots || task_number(&e->store, slot) >> TASK_SLOT_BITS == 0 ||
           task_number(&e->store, slot) == no;
}

/* The task may come behind it, as that of a name. */
static int apply_own(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    char labels[LABELS_TEXT_MAX + 1];
    bool waits = !e->loading && task_find(&e->store, r->no) != SLOT_NONE &&
                 task_state_waits((enum task_state)task_at(&e->store, slot)->state);
    uint64_t was = waits ? task_cost(e, slot) : 0;
    struct task_own own;
    int rc = own_decode(&own, labels, r->own.p, r->own.n);

    if (rc == 0 && own.cost != 0)
        rc = tree_reach_costs(&e->tree);
    if (r->no >> TASK_SLOT_BITS == 0 || !is_slot_of(e, slot, r->no))
        return SQ_EPROTO;
    if (rc == 0)
        rc = owns_set(&e->owns, slot, &own);
    if (rc == 0 && waits)
        tqueue_count_units(e, slot, task_cost(e, slot), was);
    return rc;
}

/* Likewise; also of one that has succeeded. */
static int apply_chain(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    struct chain k = { (part_no)r->lo, (part_no)r->most, r->hi, r->entry, (uint8_t)r->state,
                       (uint8_t)r->why, r->own.n, (char *)(uintptr_t)r->own.p };

    if (r->no >> TASK_SLOT_BITS == 0 || r->lo > UINT32_MAX || r->most > UINT32_MAX ||
        r->state >= CHAIN_NSTATES || r->why > UINT8_MAX || r->own.n > CHAIN_MAX ||
        (r->state == CHAIN_WAITS) != (r->own.n > 0) || !is_slot_of(e, slot, r->no))
        return SQ_EPROTO;
    return chains_set(&e->chains, slot, &k);
}

struct trec task_chain_record(task_no no, const struct chain *k)
{
    return (struct trec){ .kind = TREC_CHAIN, .no = no, .state = k->state, .why = k->why,
                          .lo = k->after_part, .hi = k->after_no, .most = k->next_part,
                          .entry = k->next_no, .own = { k->then, k->n } };
}

struct trec task_own_record(task_no no, const struct task_own *own, struct buf *b)
{
    buf_reset(b);
    own_encode(own, b);
    return (struct trec){ .kind = TREC_OWN, .no = no,
                          .own = { (const char *)b->data, (uint32_t)b->len } };
}

static int apply_past(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);

    if (slot == SLOT_NONE)
        return SQ_EPROTO;
    return attempts_load(&e->attempts, slot, r->most, r->own.p, r->own.n);
}

/* A snapshot is the first that is read. */
static int apply_snap(struct engine *e, const struct trec *r)
{
    if (e->store.n_slots != 0 || r->lo > TASK_ORDER_MAX + 1)
        return SQ_EPROTO;
    e->loading = true;
    e->store.next_order = u64_max(e->store.next_order, r->lo);
    e->next_lease = u64_max(e->next_lease, r->lease);
    return 0;
}

static int apply_snap_end(struct engine *e, const struct trec *r)
{
    int rc = arrive_end(e);

    (void)r;
    if (rc < 0)
        return rc;
    e->loading = false;
    names_advance(&e->names, e->at); /* perhaps of a moment at which the clock had not run yet */
    return 0;
}

static int apply_enter(struct engine *e, task_slot slot, const struct trec *r)
{
    const struct task *t = task_at(&e->store, slot);

    return arrive_enter(e, slot, r, t->state == TASK_RETRYING &&
                        (t->cancel || tqueue_rules(e, slot)->order == ORDER_STRICT)
                        ? PLACE_FRONT : PLACE_END);
}

/* Moves it to where something else stood for it. False: it is in no line. */
static bool leave_for_place(struct engine *e, struct offer *f)
{
    leave_line(e, f->task);
    places_move(e, f, f->at);
    f->at = 0;
    return false;
}

static int apply_start(struct engine *e, task_slot slot, const struct trec *r)
{
    struct task *t = task_at(&e->store, slot);
    struct offer *f = offers_of(&e->offers, slot);
    bool in_line;

    if (f != NULL)
        places_leave(e, f);
    else
        leave_row(e, slot);
    in_line = f == NULL || f->own == f->at ? !leave_first(e, slot) : leave_for_place(e, f);
    tree_start(&e->tree, slot, in_line, task_cost(e, slot), e->at);
    tqueue_set_state(e, slot, TASK_RUNNING);
    t->lease = r->lease;
    t->started = (uint64_t)e->at & (WHEEL_MAX - 1);
    t->called = r->kind == TREC_CALL;
    t->passed = t->paid = 0;
    t->target = 0;
    settled_drop(&e->settled, slot);
    names_begin(&e->names, r->no);
    t->attempts = t->attempts < ATTEMPTS_MAX ? (t->attempts + 1) & 63 : ATTEMPTS_MAX;
    e->next_lease = u64_max(e->next_lease, r->lease + 1);
    task_arm(e, slot, r->until);
    return 0;
}

static int apply_at_place(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);
    struct offer *f = slot != SLOT_NONE ? offers_of(&e->offers, slot) : NULL;

    if (f == NULL || r->lo >= f->n || task_at(&e->store, slot)->state != TASK_WAITING)
        return SQ_EPROTO;
    f->at = (uint8_t)r->lo;
    return 0;
}

/* Also comes in a snapshot, behind its TASK. */
static int apply_passed(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);

    if (slot == SLOT_NONE || task_at(&e->store, slot)->state != TASK_RUNNING)
        return SQ_EPROTO;
    task_at(&e->store, slot)->passed = 1;
    return 0;
}

/* Also comes in a snapshot, behind its TASK. */
static int apply_target(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);
    struct task *t = slot != SLOT_NONE ? task_at(&e->store, slot) : NULL;

    if (t == NULL || (t->state != TASK_RUNNING && !task_is_cut(t)) || r->lo < 1 || r->lo > TARGET_NO_MAX)
        return SQ_EPROTO;
    leave_target(e, slot);
    t->target = r->lo & TARGET_NO_MAX;
    e->at_target[t->target]++;
    return 0;
}

static uint64_t charged(const struct engine *e, task_slot slot)
{
    uint64_t units;

    return settled_of(&e->settled, slot, &units) ? units : task_cost(e, slot);
}

/* Also comes in a snapshot, behind its TASK. */
static int apply_settled(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);
    uint64_t was = slot != SLOT_NONE ? charged(e, slot) : 0;
    int rc = slot == SLOT_NONE || r->lo > TASK_COST_MAX ||
                     (!e->loading && task_at(&e->store, slot)->state != TASK_RUNNING)
                 ? SQ_EPROTO : 0;

    if (rc == 0 && r->lo > was && !e->loading)
        rc = tree_reach_costs(&e->tree);
    if (rc == 0)
        rc = settled_set(&e->settled, slot, r->lo);
    if (rc < 0 || e->loading)
        return rc;
    e->settled.more += r->lo > was ? r->lo - was : 0;
    e->settled.back += r->lo < was ? was - r->lo : 0;
    tree_settle(&e->tree, slot, was, r->lo, task_at(&e->store, slot)->paid, e->at);
    return 0;
}

int task_settle(struct engine *e, task_slot slot, uint64_t units)
{
    const struct trec r = { .kind = TREC_SETTLED, .no = task_number(&e->store, slot), .lo = units };
    uint64_t was;

    int rc;

    if (settled_of(&e->settled, slot, &was) && was == units)
        return 0;
    was = charged(e, slot);
    rc = task_perform(e, &r);
    e->counts.units_more += rc == 0 && units > was ? units - was : 0;
    e->counts.units_back += rc == 0 && units < was ? was - units : 0;
    return rc;
}

void task_give_back(struct engine *e, task_slot slot)
{
    if (e->tree.has_units || task_cost(e, slot) > 1)
        (void)!task_settle(e, slot, 0);
}

static int apply_settlements(struct engine *e, const struct trec *r)
{
    e->settled.more = r->lo;
    e->settled.back = r->hi;
    return 0;
}

/* Limits of a pool that has gone have no level. */
static int apply_level(struct engine *e, const struct trec *r)
{
    const struct level l = { (int64_t)r->until, { (int64_t)r->lo, (int64_t)r->hi, (int64_t)r->digest } };
    uint32_t limiter;

    if ((r->until | r->lo | r->hi | r->digest) > INT64_MAX)
        return SQ_EPROTO;
    limiter = tqueue_limiter(e, &r->name, &r->key1, &r->key2);
    if (limiter != 0)
        tree_set_level(&e->tree, limiter, &l, e->at);
    return limiter != 0 || tqueue_pool_of(e, &r->name) == NULL ? 0 : SQ_ENOMEM;
}

static int apply_emptied(struct engine *e, const struct trec *r)
{
    if (r->until == 0 || r->until >= (uint64_t)WHEEL_MAX)
        return SQ_EPROTO;
    if (e->loading) /* LEVEL says what those have that are there */
        e->tree.emptied = (msec_t)r->until;
    else
        tree_empty_buckets(&e->tree, (msec_t)r->until);
    return 0;
}

static int apply_extend(struct engine *e, task_slot slot, const struct trec *r)
{
    if (task_at(&e->store, slot)->state == TASK_RUNNING)
        task_at(&e->store, slot)->called = 0;
    task_arm(e, slot, r->until);
    return 0;
}

static int apply_moved(struct engine *e, task_slot slot, const struct trec *r)
{
    task_frees_body(e, slot);
    task_set_body(&e->store, slot, r->body);
    return 0;
}

static int apply_stop(struct engine *e, task_slot slot, const struct trec *r)
{
    (void)r;
    task_at(&e->store, slot)->cancel = 1;
    chains_end(&e->chains, slot); /* should it still succeed, nothing begins */
    return 0;
}

static int apply_redrive(struct engine *e, task_slot slot, const struct trec *r)
{
    int rc = arrive_enter(e, slot, r, PLACE_END);

    if (rc == 0) {
        task_at(&e->store, slot)->attempts = 0;
        settled_drop(&e->settled, slot);
        task_frees_reply(e, slot);
        names_live(&e->names, r->no);
    }
    return rc;
}

static int apply_order(struct engine *e, task_slot slot, const struct trec *r)
{
    const struct task *t = task_at(&e->store, slot);
    struct offer *f = offers_of(&e->offers, slot);

    place_set_order(e, slot, r->order, t->state == TASK_WAITING && !t->cancel);
    if (f != NULL)
        places_set_order(e, f, r->order);
    return 0;
}

/* Keeps its entry: it gets in line behind those of its new priority that entered before it. */
static int apply_priority(struct engine *e, task_slot slot, const struct trec *r)
{
    const struct task *t = task_at(&e->store, slot);
    struct offer *f = offers_of(&e->offers, slot);
    bool in_line = t->state == TASK_WAITING && !t->cancel;
    uint32_t turn;

    if (r->priority >= TASK_PRIORITIES || r->priority == t->priority ||
        tqueue_rules(e, slot)->order == ORDER_STRICT)
        return SQ_EPROTO;
    if (f != NULL && places_reach_priority(e, f, (uint8_t)r->priority) < 0)
        return SQ_ENOMEM;
    turn = tqueue_other_turn(e, slot, (uint8_t)r->priority);
    if (turn == 0)
        return SQ_ENOMEM;
    if (in_line)
        tree_unwait(&e->tree, slot);
    place_set_priority(e, slot, turn, r->priority);
    if (t->state == TASK_WAITING)
        rank_set_level(&tqueue_of(e, slot)->rank, tqueue_entry(tqueue_of(e, slot), t), t->priority);
    if (in_line)
        tree_wait(&e->tree, slot, WAIT_BY_ENTRY);
    if (f != NULL)
        places_set_priority(e, f, (uint8_t)r->priority);
    return 0;
}

static int apply_delay(struct engine *e, task_slot slot, const struct trec *r)
{
    task_arm(e, slot, 0);
    task_at(&e->store, slot)->cancel = r->wall != 0;
    wheel_set(r->wall != 0 ? &e->walls : &e->timers, slot, (msec_t)r->until);
    return 0;
}

/* Moves a waiting one: its entry stays; only its place is another. */
static int apply_run(struct engine *e, task_slot slot, const struct trec *r)
{

    if (tqueue_rules(e, slot)->order == ORDER_STRICT)
        return SQ_EPROTO;
    if (task_at(&e->store, slot)->state != TASK_WAITING)
        return arrive_enter(e, slot, r, PLACE_FIRST);
    leave_line(e, slot);
    arrive_first(e, slot);
    return 0;
}

static int apply_explain(struct engine *e, task_slot slot, const struct trec *r)
{
    if (r->lo > UINT32_MAX || r->name.n > ATTEMPT_REASON)
        return SQ_EPROTO;
    attempts_explain(&e->attempts, slot, (uint32_t)r->lo, r->name.p, r->name.n);
    return 0;
}

static int apply_done_under(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);

    if (slot == SLOT_NONE || task_at(&e->store, slot)->state != TASK_SUCCEEDED)
        return SQ_EPROTO;
    task_keep_start(task_at(&e->store, slot), r->lease);
    return 0;
}

static int apply_gone(struct engine *e, task_slot slot, const struct trec *r)
{
    const struct task *t = task_at(&e->store, slot);

    if (task_is_cut(t))
        return SQ_EPROTO;
    if (t->state == TASK_SUCCEEDED)
        leave_mark(e, r->no, task_done_start(t), false);
    arrive_gone(e, slot);
    return 0;
}

#define FINAL (BIT(SUCCEEDED) | BIT(DEAD) | BIT(CANCELLED) | BIT(EXPIRED))

/* Records of a task that is there, and the states in which they may come. */
static const struct {
    int (*fn)(struct engine *e, task_slot slot, const struct trec *r);
    uint16_t states;
    bool needs_time; /* until is not 0 */
} of_task[TREC_NKINDS] = {
    [TREC_ENTER] = { apply_enter, BIT(SCHEDULED) | BIT(RETRYING), false },
    [TREC_START] = { apply_start, BIT(WAITING), true },
    [TREC_CALL] = { apply_start, BIT(WAITING), true },
    [TREC_EXTEND] = { apply_extend, BIT(RUNNING), true },
    [TREC_RETRY] = { leave_retry, BIT(RUNNING), true },
    [TREC_SPARED] = { leave_retry, BIT(RUNNING), true },
    [TREC_DONE] = { leave_done, BIT(RUNNING), true },
    [TREC_DEAD] = { leave_dead, BIT(RUNNING), true },
    [TREC_CANCEL] = { leave_cancel,
                      BIT(SCHEDULED) | BIT(WAITING) | BIT(RUNNING) | BIT(RETRYING), true },
    [TREC_CUT] = { leave_cut, BIT(RUNNING) | BIT(CANCELLED), false },
    [TREC_STOP] = { apply_stop, BIT(RUNNING), false },
    [TREC_EXPIRE] = { leave_expire, BIT(WAITING), true },
    [TREC_REDRIVE] = { apply_redrive, BIT(DEAD), false },
    [TREC_ORDER] = { apply_order, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING), false },
    [TREC_PRIORITY] = { apply_priority, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING), false },
    [TREC_DELAY] = { apply_delay, BIT(SCHEDULED), true },
    [TREC_READ] = { apply_extend, FINAL, true },
    [TREC_RUN] = { apply_run, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING), false },
    [TREC_GONE] = { apply_gone, FINAL, false },
    [TREC_EXPLAIN] = { apply_explain, BIT(RETRYING) | BIT(DEAD) | BIT(CANCELLED), false },
    [TREC_MOVED] = { apply_moved, (uint16_t)~BIT(FREE), false },
};

static int apply_to_task(struct engine *e, const struct trec *r)
{
    task_slot slot = task_find(&e->store, r->no);

    if (of_task[r->kind].fn == NULL || e->loading)
        return SQ_EPROTO;
    if (slot == SLOT_NONE ||
        (of_task[r->kind].states >> task_at(&e->store, slot)->state & 1) == 0 ||
        r->until >= (uint64_t)WHEEL_MAX || (of_task[r->kind].needs_time && r->until == 0))
        return SQ_EPROTO;
    return of_task[r->kind].fn(e, slot, r);
}

enum when { ANY, LIVE, LOADING }; /* LOADING: in a snapshot; LIVE: not */

/* The other records, and when they may come. */
static const struct {
    int (*fn)(struct engine *e, const struct trec *r);
    enum when when;
} of_partition[TREC_NKINDS] = {
    [TREC_POOL] = { apply_pool, ANY },
    [TREC_KEYS] = { apply_keys, ANY },
    [TREC_AT] = { apply_at, ANY },
    [TREC_STOOD] = { apply_stood, ANY },
    [TREC_ACCEPT] = { arrive_accept, LIVE },
    [TREC_OWN] = { apply_own, ANY },
    [TREC_GROUP] = { group_apply, ANY },
    [TREC_MEMBER] = { group_apply, ANY },
    [TREC_GROUP_GONE] = { group_apply, ANY },
    [TREC_CHAIN] = { apply_chain, ANY },
    [TREC_PLACE] = { arrive_place, ANY },
    [TREC_AT_PLACE] = { apply_at_place, ANY },
    [TREC_PAST] = { apply_past, LOADING },
    [TREC_DONE_UNDER] = { apply_done_under, LOADING },
    [TREC_PASSED] = { apply_passed, ANY },
    [TREC_TARGET] = { apply_target, ANY },
    [TREC_SETTLED] = { apply_settled, ANY },
    [TREC_SETTLEMENTS] = { apply_settlements, LOADING },
    [TREC_WINDOW] = { window_apply, ANY },
    [TREC_EMPTIED] = { apply_emptied, ANY },
    [TREC_LEVEL] = { apply_level, LOADING },
    [TREC_REPLY] = { arrive_reply, ANY },
    [TREC_NAME] = { apply_name, ANY },
    [TREC_REDRIVING] = { dead_apply_redriving, ANY },
    [TREC_SNAP] = { apply_snap, LIVE },
    [TREC_TASK] = { arrive_task, LOADING },
    [TREC_SNAP_END] = { apply_snap_end, LOADING },
};

int task_apply(struct engine *e, const struct trec *r)
{
    int (*fn)(struct engine *, const struct trec *) = of_partition[r->kind].fn;
    enum when when = of_partition[r->kind].when;

    if (fn == NULL)
        return apply_to_task(e, r);
    return when == ANY || (when == LOADING) == e->loading ? fn(e, r) : SQ_EPROTO;
}

static void tell_feed(struct engine *e, const struct trec *r)
{
    task_slot slot = task_slot_of(r->no);
    const struct offer *f = offers_of(&e->offers, slot);
    struct feed_event v = { .no = r->no, .at = e->at };

    if (!trec_is_end(r) && r->kind != TREC_START && r->kind != TREC_CALL)
        return;
    v.state = (uint8_t)task_at(&e->store, slot)->state;
    v.attempts = (uint8_t)task_at(&e->store, slot)->attempts;
    feeds_note(&e->feeds, tqueue_of(e, slot)->hash, &v);
    if (f != NULL)
        places_tell(e, f, (enum task_state)v.state);
}

int task_perform(struct engine *e, const struct trec *r)
{
    int rc;

    if (e->logged_at != e->at) {
        struct trec at = { .kind = TREC_AT, .until = (uint64_t)e->at };

        trec_append(&at, &e->log);
        e->logged_at = e->at;
    }
    rc = task_apply(e, r);
    if (rc < 0)
        return rc;
    trec_append(r, &e->log);
    if (e->ended != NULL && trec_is_end(r))
        e->ended(e->ended_ctx, e, task_slot_of(r->no));
    if (e->started != NULL && (r->kind == TREC_START || r->kind == TREC_CALL))
        e->started(e->ended_ctx, e, task_slot_of(r->no));
    if (e->feeds.by_hash.n > 0)
        tell_feed(e, r);
    return 0;
}

int task_perform_own(struct engine *e, task_no no, const struct task_own *own)
{
    struct trec r;
    struct buf b;
    int rc;

    buf_init(&b);
    r = task_own_record(no, own, &b);
    rc = b.failed ? SQ_ENOMEM : task_perform(e, &r);
    buf_fini(&b);
    return rc;
}

void task_perform_sure(struct engine *e, const struct trec *r)
{
    int rc = task_perform(e, r);

    assert(rc == 0);
    (void)rc;
}
