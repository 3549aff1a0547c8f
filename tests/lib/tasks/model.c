/* model.c: answers are kept; what is found must agree with them. */
#include "tests/lib/tasks/model.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "tests/lib/engine_state.h"
#include "tests/lib/tasks/names.h"
#include "tests/lib/tasks/order.h"
#include "tests/lib/tasks/settled.h"

const struct attempt model_says[3] = {
    { .end = ATTEMPT_GIVEN_BACK },
    { .end = ATTEMPT_GIVEN_BACK, .reason = "no paper", .reason_len = 8 },
    { .end = ATTEMPT_GIVEN_BACK, .number = 503 },
};

struct model *model_new(void)
{
    return calloc(1, sizeof(struct model));
}

void model_free(struct model *m)
{
    free(m->v);
    free(m->bucket);
    free(m->before);
    free(m);
}

struct mtask *model_find(struct model *m, task_no no)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->v[i].no == no)
            return &m->v[i];
    return NULL;
}

struct task_rules model_rules(const struct world *w, const struct mtask *t)
{
    struct task_rules r = w->plan.rules;

    own_rules(&t->own, &r);
    return r;
}

void model_wall(struct model *m, msec_t wall)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->v[i].wall != 0 && wall >= m->v[i].wall)
            m->v[i].wall_seen = true;
}

/* ---- answers ----------------------------------------------------------------------- */

static struct mtask *add(struct world *w, const struct said *s)
{
    struct model *m = w->model;
    struct mtask *t;

    if (!GROW(m->v, m->n, m->cap, 64))
        abort();
    t = &m->v[m->n++];
    *t = (struct mtask){ .no = s->no, .queue = s->queue, .offer = s->offer, .key1 = s->key1, .key2 = s->key2,
                         .name = s->name, .priority = s->priority, .digest = s->digest,
                         .body = s->body, .seq = ++m->seq, .due = s->at + s->ms,
                         .wall = s->wall_ms, .own = s->own, .wall_seen = s->wall_ms <= s->wall,
                         .delayed = s->ms != 0 || s->wall_ms > s->wall };
    return t;
}

/* Its name means it: until it has gone; a key, until it is final at least (and if it is
 * redriven after that, the key may be forgotten). */
static bool is_known_still(const struct world *w, const struct mtask *t)
{
    struct task_view v;

    return t->known != KNOWN_DOUBT && engine_sees(w->e, t->no, &v) &&
           (t->name % 2 == 1 || (!task_state_is_final(v.state) && !t->redriven));
}

static void hears_submit(struct world *w, const struct said *s)
{
    task_no *named = s->name != 0 ? &w->model->named[s->queue][s->name] : NULL;
    struct mtask *same = named != NULL ? model_find(w->model, *named) : NULL;

    if (s->rc == SQ_EFULL || (s->unique != 0 && (s->rc == 1 || s->rc == SQ_EHELD)))
        return; /* of a unique key: uniques_check() */
    if (same != NULL && is_known_still(w, same)) { /* J13 */
        if (s->digest == same->digest ? s->rc != 1 || s->no != same->no : s->rc != SQ_ECONFLICT)
            world_broke(w, "J13: name %u of task %lx: rc %d, task %lx", s->name, same->no, s->rc,
                        s->no);
        return;
    }
    if (s->rc == 1 || s->rc == SQ_ECONFLICT) {
        if (s->name == 0)
            world_broke(w, "J13: a task without a name is the same as another");
        return; /* a key that outlives its task, or an acceptance that was never answered */
    }
    if (s->rc != 0) {
        world_broke(w, "submit: %d", s->rc);
        return;
    }
    add(w, s);
    if (named != NULL)
        *named = s->no;
}

static void hears_end(const struct world *w, const struct said *s, struct mtask *t)
{
    if (s->verb == SAID_ACK && s->rc == 0) {
        t->known = KNOWN_DONE;
        t->result = s->body;
        t->ended = s->at;
        t->held = false;
    } else if (s->verb == SAID_CANCEL && s->rc == 0) {
        t->known = KNOWN_CANCELLED;
        t->ended = s->at;
    } else if (s->verb == SAID_NACK && s->rc == 0) {
        struct task_rules r = model_rules(w, t);

        t->held = false;
        t->given_back = model_says[s->priority];
        t->given_back.no = t->attempts;
        t->given_back.started = t->began;
        t->given_back.ended = s->at;
        t->retry_at = s->at + (s->ms >= 0 ? s->ms : (msec_t)r.retry_min_ms);
        if (t->attempts >= r.max_attempts)
            t->retry_at = 0; /* dead: if it is redriven, at once */
    }
}

void model_runs(struct mtask *t, msec_t at)
{
    t->first = t->delayed = t->moved = true;
    t->due = ms_min(t->due, at);
    t->wall = t->retry_at = 0;
}

/* ---- redrives ---------------------------------------------------------------------- */

static double burst_of(const struct redriving *r)
{
    return 1 + (double)(r->per_1000_s / 100000);
}

/* The rate is not known any more, or it began anew. */
static void redriving_begins(struct redriving *r, uint64_t per_1000_s, msec_t at)
{
    *r = (struct redriving){ .per_1000_s = per_1000_s, .at = at };
    r->level = burst_of(r);
}

void model_begins_turn(struct model *m)
{
    if (!GROW_BY(m->before, 0, m->n_buckets, m->before_cap, 16))
        abort();
    m->n_before = m->n_buckets;
    if (m->n_before > 0)
        memcpy(m->before, m->bucket, m->n_before * sizeof(*m->before));
}

void model_restarts(struct model *m, msec_t at, bool turn_lost)
{
    if (turn_lost) { /* those that it made were full */
        m->n_buckets = m->n_before;
        if (m->n_before > 0)
            memcpy(m->bucket, m->before, m->n_before * sizeof(*m->before));
    }
    for (unsigned i = 0; i < m->n_buckets; i++) {
        struct bucket *b = &m->bucket[i];

        b->at = b->calendar ? b->at : ms_min(b->at, at); /* a turn that was lost may have been later */
        if (b->id == THE_PARTITION && b->level < 0) /* what was told is forgotten: it begins empty */
            b->level = 0;
    }
    for (unsigned q = 0; q < 3; q++)
        redriving_begins(&m->redriving[q], m->redriving[q].per_1000_s, at);
    shares_begin(&m->shares);
}

void model_redefined(struct model *m)
{
    m->n_buckets = 0;
    shares_begin(&m->shares);
}

void model_redriven(struct world *w, unsigned queue)
{
    struct redriving *r = &w->model->redriving[queue];

    if (r->per_1000_s == 0)
        return;
    r->level += (double)ms_max(w->e->at - r->at, 0) * (double)r->per_1000_s / 1e6;
    r->level = (r->level > burst_of(r) ? burst_of(r) : r->level) - 1;
    r->at = w->e->at;
    if (r->level < -1e-6)
        world_broke(w, "more of queue %u are redriven than %lu in 1000 s", queue, r->per_1000_s);
}

/* What a list of the dead has is what there is, and somebody goes on with it. */
static void check_dead(struct world *w, unsigned queue)
{
    struct trec_text name = task_text('q', queue);
    const struct tqueue *q = tqueue_find(w->e, name.p, name.n);
    struct task_filter f = { .queue = name, .states = 1u << TASK_DEAD };
    static task_no no[WORLD_TASKS];
    task_slot at = 0;
    uint32_t n = 0;
    bool last = q == NULL || q->redrive_last == 0;

    if (engine_list(w->e, &f, &at, no, WORLD_TASKS) != (q != NULL ? q->dead.n : 0))
        world_broke(w, "queue %u: not all that are dead are in its list", queue);
    for (uint32_t i = q != NULL ? q->dead.head : 0; i != 0; i = task_at(&w->e->store, i - 1)->next) {
        const struct task *t = task_at(&w->e->store, i - 1);

        if (t->state != TASK_DEAD || tqueue_of(w->e, i - 1) != q ||
            (t->next != 0 && task_at(&w->e->store, t->next - 1)->entry <= t->entry))
            world_broke(w, "queue %u: its list of the dead has no order", queue);
        last |= i == q->redrive_last;
        n++;
    }
    if (q != NULL && (n != q->dead.n || !last))
        world_broke(w, "queue %u: its list of the dead is not whole", queue);
    if (q != NULL && q->redrive_last != 0 &&
        wheel_when(&w->e->redrives, tqueue_index(w->e, q->redrive_last - 1)) == 0)
        world_broke(w, "queue %u: nobody goes on with its redrive", queue);
}

/* ------------------------------------------------------------------------------------- */

void model_hears(struct world *w, const struct said *s)
{
    struct mtask *t = model_find(w->model, s->no);
    struct task_view v;

    if (s->verb == SAID_SUBMIT) {
        hears_submit(w, s);
        return;
    }
    if (s->verb == SAID_REDRIVE_ALL)
        redriving_begins(&w->model->redriving[s->queue], s->per_1000_s, s->at);
    if (t == NULL)
        return;
    hears_end(w, s, t);
    if (s->rc != 0)
        return;
    if (s->verb == SAID_TAKE) {
        t->queue = s->queue; /* it may have been accepted in the same turn */
        t->unseen |= t->offer != 0;
        t->tried_before = t->tried;
        t->attempts = s->taken.attempt;
        t->lease = s->taken.lease;
        t->began = s->at;
        order_windows(w, t);
        t->lease_until = s->taken.until;
        t->held = t->tried = true;
        t->charged = own_cost(&t->own);
        t->is_used = t->is_unsure = false;
        t->first = engine_sees(w->e, t->no, &v) && v.first; /* said after the take? */
    } else if (s->verb == SAID_UNSEEN) { /* as if it had never been taken */
        t->held = false;
        t->tried = t->tried_before;
        t->attempts--;
    } else if (s->verb == SAID_EXTEND) {
        t->lease_until = s->at + s->ms;
    } else if (s->verb == SAID_DELAY) {
        t->due = s->wall_ms != 0 ? s->at : s->at + s->ms;
        t->wall = s->wall_ms;
        t->wall_seen = s->wall_ms <= s->wall;
        t->delayed = true;
    } else if (s->verb == SAID_REDRIVE) {
        t->redriven = true;
        t->retry_at = 0;
        t->known = KNOWN_OPEN;
    } else if (s->verb == SAID_PRIORITY) {
        t->priority = s->priority;
    } else if (s->verb == SAID_RUN) {
        model_runs(t, s->at); /* again: what was said before it has been heard by now */
    } else if (s->verb == SAID_READ) {
        t->read = true;
    } else if (s->verb == SAID_DISCARD) {
        t->known = KNOWN_DOUBT; /* it has gone */
    }
}

void model_doubts(struct world *w, const struct said *s)
{
    struct mtask *t = model_find(w->model, s->no);

    if (s->verb == SAID_SUBMIT && s->name != 0) {
        struct mtask *named = model_find(w->model, w->model->named[s->queue][s->name]);

        if (named == NULL)
            w->model->named[s->queue][s->name] = 0;
        return;
    }
    if (s->verb == SAID_REDRIVE_ALL)
        redriving_begins(&w->model->redriving[s->queue], 0, s->at);
    if (t == NULL || s->verb == SAID_SUBMIT)
        return;
    t->is_unsure = true;
    if (s->verb == SAID_DELAY || s->verb == SAID_NACK) { /* whichever is earlier */
        t->due = s->verb == SAID_DELAY ? ms_min(t->due, s->at) : t->due;
        t->wall = s->verb == SAID_DELAY ? 0 : t->wall;
        t->retry_at = 0;
    }
    if (s->verb == SAID_EXTEND)
        t->lease_until = ms_min(t->lease_until, s->at + s->ms);
    t->read |= s->verb == SAID_READ;
    if (t->known != KNOWN_DONE || s->verb == SAID_DISCARD)
        t->known = s->verb == SAID_ORDER || s->verb == SAID_MOVED ||
                           s->verb == SAID_RUN || s->verb == SAID_PRIORITY
                       ? t->known : KNOWN_DOUBT;
    t->tried = t->delayed = true;
}

/* ---- what is found ----------------------------------------------------------------- */

static msec_t life(const struct world *w, const struct mtask *t)
{
    const struct task_rules *r = &w->plan.rules;
    uint64_t ms = t->read ? u64_min(r->read_ms, r->result_ms) : r->result_ms;

    return t->ended + (msec_t)u64_max(ms, 1);
}

static bool is_body(uint64_t found, uint64_t given)
{
    return ((found ^ given) & BODY_ITSELF) == 0;
}

static bool is_same(const struct attempt *a, const struct attempt *b)
{
    return a->no == b->no && a->ended == b->ended && a->started == b->started &&
           a->number == b->number && a->reason_len == b->reason_len &&
           (b->reason_len == 0 || memcmp(a->reason, b->reason, b->reason_len) == 0);
}

/* Every attempt that has failed is told, or counted, each with what its worker said. */
static void check_history(struct world *w, const struct mtask *t, const struct task_view *v)
{
    struct attempt a[ATTEMPTS_KEPT + 1];
    uint32_t earlier;
    unsigned n = look_at_history(w->e, task_slot_of(t->no), a, &earlier);
    unsigned failed = v->attempts - (v->state == TASK_RUNNING || v->state == TASK_SUCCEEDED);
    bool found = t->given_back.end == 0 || earlier > 0;
    const struct attempt *last = NULL;

    for (unsigned i = 0; i < n; i++) {
        found |= is_same(&a[i], &t->given_back) &&
                 (a[i].end == ATTEMPT_GIVEN_BACK || a[i].end == ATTEMPT_CANCELLED);
        if (a[i].started > a[i].ended || (a[i].again != 0 && a[i].again < a[i].ended) ||
            (last != NULL && a[i].no != 0 && a[i].no != last->no + 1 && a[i].no != 1))
            world_broke(w, "task %lx: attempt %u has another order", t->no, a[i].no);
        if (a[i].no != 0 && a[i].end != ATTEMPT_SUCCEEDED)
            last = &a[i];
    }
    if (!found)
        world_broke(w, "task %lx: its history has not attempt %u, which was given back", t->no,
                    t->given_back.no);
    if (failed > 0 && (last == NULL || last->no != failed))
        world_broke(w, "task %lx: %u attempts failed, the history ends with %u", t->no, failed,
                    last != NULL ? last->no : 0);
    if (v->state == TASK_SUCCEEDED && t->known == KNOWN_DONE &&
        (a[n - 1].end != ATTEMPT_SUCCEEDED || a[n - 1].started != t->began || a[n - 1].ended != t->ended))
        world_broke(w, "task %lx: its history does not end with the attempt that was done", t->no);
}

/* It waits; or what it stands for does. */
static bool stands(const struct engine *e, task_slot slot)
{
    const struct offer *f = offers_of(&e->offers, slot);

    return task_at(&e->store, f != NULL ? f->task : slot)->state == TASK_WAITING;
}

/* J38: how many of its priority or above entered before one that waits, counted anew; another one each step. */
static void check_a_place(struct world *w)
{
    task_slot n = w->e->store.n_slots, slot = (task_slot)(w->steps * 7919 % (n + 1));
    const struct task *t;
    const struct tqueue *q;
    struct task_view v;
    uint64_t ahead = 0;

    while (slot < n && task_at(&w->e->store, slot)->state != TASK_WAITING)
        slot++;
    if (slot >= n || engine_look(w->e, task_number(&w->e->store, slot), &v) < 0)
        return;
    t = task_at(&w->e->store, slot);
    q = tqueue_of(w->e, slot);
    for (task_slot s = 0; s < w->e->store.n_slots; s++) {
        const struct task *o = task_at(&w->e->store, s);

        ahead += stands(w->e, s) && o->priority >= t->priority && tqueue_of(w->e, s) == q &&
                 tqueue_entry(q, o) < tqueue_entry(q, t);
    }
    if (v.ahead_of_priority != ahead)
        world_broke(w, "J38: %lu of priority %u or above are before task %lx, it is told %lu", ahead, t->priority,
                    task_number(&w->e->store, slot), v.ahead_of_priority);
    if (v.position <= ahead)
        world_broke(w, "J38: task %lx is in place %lu, behind %lu", task_number(&w->e->store, slot), v.position, ahead);
}

/* J1: what was answered is there, in the state that was answered. */
static void check_there(struct world *w, struct mtask *t)
{
    struct task_rules r = model_rules(w, t);
    struct task_view v;
    bool there = engine_look(w->e, t->no, &v) == 0;

    if (!there && t->known == KNOWN_OPEN && t->ended == 0) {
        /* Only what is final may go, and only after its life: dead, expired are not told. */
        if (r.ttl_ms == 0 && r.max_attempts > 1 && !t->tried && !t->unseen)
            world_broke(w, "J1: task %lx has gone, and nobody ever had it", t->no);
        return;
    }
    if (!there) {
        if (t->known != KNOWN_DOUBT && !w->gave_way && w->e->at < life(w, t))
            world_broke(w, "J1: task %lx has gone before its time", t->no);
        return;
    }
    check_history(w, t, &v);
    settled_check(w, t, &v);
    if (v.own != NULL ? !own_equal(v.own, &t->own) : !own_is_none(&t->own))
        world_broke(w, "task %lx has forgotten what it had of its own", t->no);
    if (v.state == TASK_WAITING && r.ttl_ms != 0 &&
        v.until_ms > w->e->at + (msec_t)r.ttl_ms)
        world_broke(w, "task %lx waits for longer than it may", t->no);
    if (t->known == KNOWN_DONE && (v.state != TASK_SUCCEEDED || !is_body(v.body, t->result)))
        world_broke(w, "J1, J14: task %lx was done and is %s", t->no, task_state_word(v.state));
    if (t->known == KNOWN_CANCELLED && v.state != TASK_CANCELLED)
        world_broke(w, "J1: task %lx was cancelled and is %s", t->no, task_state_word(v.state));
    if (v.state == TASK_SUCCEEDED && t->known == KNOWN_OPEN)
        world_broke(w, "J2: task %lx is done, and nobody said so", t->no);
    if (v.state != TASK_SUCCEEDED && !is_body(v.body, t->body))
        world_broke(w, "J14: task %lx has another body", t->no);
    if ((v.state == TASK_SCHEDULED && !v.by_wall && v.until_ms <= w->e->at) ||
        (v.state == TASK_RETRYING && v.until_ms <= w->e->at) ||
        (v.state == TASK_RUNNING && v.until_ms <= w->e->at))
        world_broke(w, "J8: task %lx is %s after its moment", t->no, task_state_word(v.state));
    if (v.by_wall && v.until_ms <= w->now.wall_ms)
        world_broke(w, "J8: task %lx waits for a moment of the wall that is here", t->no);
}

void model_units(const struct world *w, task_slot but, uint64_t *sum)
{
    memset(sum, 0, w->plan.queues * sizeof(*sum));
    for (task_slot s = 0; s < w->e->store.n_slots; s++) {
        enum task_state state = (enum task_state)task_at(&w->e->store, s)->state;
        const struct offer *f = state == TASK_FREE ? offers_of(&w->e->offers, s) : NULL;
        task_slot task = f != NULL ? f->task : s;

        if (task != but && (f != NULL ? stands(w->e, s) : task_state_waits(state)))
            sum[tqueue_of(w->e, s)->name[1] - '0'] += own_cost(owns_of(&w->e->owns, task));
    }
}

static void check_units(struct world *w)
{
    uint64_t all = 0, units[UNIQUES_QUEUES];

    model_units(w, SLOT_NONE, units);
    for (task_slot s = 0; s < w->e->store.n_slots; s++) /* once, in however many queues it stands */
        if (task_state_waits((enum task_state)task_at(&w->e->store, s)->state))
            all += own_cost(owns_of(&w->e->owns, s));
    for (unsigned i = 0; i < w->plan.queues; i++) {
        struct trec_text name = task_text('q', i);
        const struct tqueue *q = tqueue_find(w->e, name.p, name.n);

        if ((q != NULL ? q->units : 0) != units[i])
            world_broke(w, "J36: %lu units wait in queue %u, it says %lu", units[i], i, q != NULL ? q->units : 0);
    }
    if (all != w->e->units)
        world_broke(w, "J36: %lu units wait, the partition says %lu", all, w->e->units);
}

/* J40: who waits has one place in each of its queues, who does not has none: so the row of each queue, its lines,
 * and the places of its tasks are as many. */
static void check_places(struct world *w)
{
    for (unsigned i = 0; i < w->plan.queues; i++) {
        struct trec_text name = task_text('q', i);
        const struct tqueue *q = tqueue_find(w->e, name.p, name.n);
        uint64_t in_line = q != NULL ? q->first.n : 0, stand = 0;

        for (uint32_t u = 1; q != NULL && u < w->e->tree.n_turns; u++) {
            const struct turn *turn = tree_turn_at(&w->e->tree, u);

            if (turn->limiter != 0 && tqueue_at(w->e, tree_limiter_at(&w->e->tree, turn->limiter)->queue) == q)
                in_line += turn->line.n;
        }
        for (task_slot s = 0; q != NULL && s < w->e->store.n_slots; s++) {
            bool has = task_number(&w->e->store, s) >> TASK_SLOT_BITS != 0;

            stand += has && stands(w->e, s) && tqueue_of(w->e, s) == q;
        }
        if (q != NULL && (in_line != stand || q->rank.n != stand))
            world_broke(w, "J40: %lu stand in queue %u, %lu are in its lines, %lu in its row", stand, i, in_line, q->rank.n);
    }
}

/* J40: it is known in each of its queues: a place, and only one. */
static void check_offer(struct world *w, const struct mtask *t)
{
    task_slot slot = task_find(&w->e->store, t->no);
    const struct offer *f = slot != SLOT_NONE ? offers_of(&w->e->offers, slot) : NULL;
    enum task_state s = slot != SLOT_NONE ? (enum task_state)task_at(&w->e->store, slot)->state : TASK_FREE;
    unsigned in = 0;

    for (unsigned i = 0; f != NULL && i < f->n; i++)
        in |= 1u << (tqueue_of(w->e, f->v[i].slot)->name[1] - '0');
    if ((f != NULL) != (t->offer != 0 && (s == TASK_DEAD || (s != TASK_FREE && !task_state_is_final(s)))))
        world_broke(w, "J40: task %lx is %s, and has %s", t->no, task_state_word(s), f != NULL ? "places" : "no places");
    if (f != NULL && in != t->offer)
        world_broke(w, "J40: task %lx stands in queues %x, of %x", t->no, in, t->offer);
    if (f != NULL && s != TASK_RUNNING && f->own != 0)
        world_broke(w, "J40: task %lx is %s, and not in its first queue", t->no, task_state_word(s));
}

void model_check(struct world *w, bool all)
{
    struct model *m = w->model;
    uint64_t bytes = w->e->store.bytes;
    uint32_t living = 0;

    for (unsigned i = 0; i < (all ? m->n : 4) && m->n > 0; i++)
        check_there(w, &m->v[all ? i : rng_below(&w->rng, m->n)]);
    check_units(w);
    check_a_place(w);
    if (w->plan.offered > 0)
        check_places(w);
    for (unsigned i = 0; i < m->n; i++)
        if (m->v[i].offer != 0)
            check_offer(w, &m->v[i]);
    if (!all)
        return;
    for (enum task_state s = TASK_SCHEDULED; s < TASK_NSTATES; s++)
        living += w->e->store.n[s];
    if (living + w->e->store.n[TASK_FREE] != w->e->store.n_slots)
        world_broke(w, "slots are not counted right");
    for (task_slot i = 0; i < w->e->store.n_slots; i++)
        if (task_at(&w->e->store, i)->state != TASK_FREE &&
            !task_state_is_final((enum task_state)task_at(&w->e->store, i)->state))
            bytes -= world_weigh(task_at(&w->e->store, i)->body);
    if (bytes != 0)
        world_broke(w, "bytes of payloads are not counted right");
    if (tree_check(&w->e->tree) != NULL)
        world_broke(w, "keys: %s", tree_check(&w->e->tree));
    for (unsigned i = 0; i < m->n;) { /* what has gone is remembered no longer */
        struct task_view v;

        if (!engine_sees(w->e, m->v[i].no, &v))
            m->v[i] = m->v[--m->n];
        else
            i++;
    }
    order_check_idle(w);
    for (unsigned q = 0; q < w->plan.queues; q++)
        check_dead(w, q);
}
