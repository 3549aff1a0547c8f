/* engine.c: the parts of a partition, made and freed; calendar windows of its rates; what the clock does. */
#include "task/engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/recur/meter.h"
#include "task/engine/apply.h"
#include "task/engine/tqueue.h"
#include "task/engine/worker.h"
#include "task/keys/buckets.h"

#define LOG_MODULE "calendar"

void engine_init(struct engine *e, const struct engine_opts *o)
{
    assert(o->max_tasks > 0 && o->now_ms > 0);
    memset(e, 0, sizeof(*e));
    task_store_init(&e->store, o->max_tasks);
    e->store.weigh = o->weigh;
    e->zones = o->zones;
    tree_init(&e->tree, &e->store, o->max_keys, 1);
    owns_init(&e->owns);
    chains_init(&e->chains);
    offers_init(&e->offers);
    groups_init(&e->groups, &e->at);
    e->store.groups = &e->groups;
    attempts_init(&e->attempts);
    replies_init(&e->replies);
    settled_init(&e->settled);
    feeds_init(&e->feeds);
    progresses_init(&e->progresses);
    e->store.progresses = &e->progresses;
    names_init(&e->names, o->max_tasks * NAMES_OF_TASK, o->seed, 1);
    pages_init(&e->links, sizeof(struct wheel_link));
    wheel_init(&e->timers, &e->links, 1); /* the order when it is read again */
    wheel_init(&e->walls, &e->links, 1);
    wheel_init(&e->overs, &e->links, 1);
    pages_init(&e->redrive_links, sizeof(struct wheel_link));
    wheel_init(&e->redrives, &e->redrive_links, 1);
    pages_init(&e->queues, sizeof(struct tqueue));
    map_init(&e->queue_by_hash, 0); /* hashes are keyed */
    e->n_queues = 1;
    e->next_lease = 1;
    e->at = o->now_ms;
    memcpy(e->seed, o->seed, NAMES_SEED);
    buf_init(&e->log);
    buf_init(&e->freed);
}

void engine_fini(struct engine *e)
{
    for (uint32_t i = 1; i < e->n_queues; i++) {
        if (tqueue_at(e, i)->pool == NULL)
            continue;
        free(tqueue_at(e, i)->name);
        rank_fini(&tqueue_at(e, i)->rank);
    }
    for (uint32_t i = 0; i < e->n_pools; i++)
        engine_pool_free(e->pool[i]);
    free(e->pool);
    free(e->ends);
    map_fini(&e->queue_by_hash);
    pages_fini(&e->queues);
    pages_fini(&e->links);
    pages_fini(&e->redrive_links);
    owns_fini(&e->owns);
    chains_fini(&e->chains);
    offers_fini(&e->offers);
    groups_fini(&e->groups);
    attempts_fini(&e->attempts);
    replies_fini(&e->replies);
    settled_fini(&e->settled);
    feeds_fini(&e->feeds);
    progresses_fini(&e->progresses);
    names_fini(&e->names);
    tree_fini(&e->tree);
    task_store_fini(&e->store);
    buf_fini(&e->log);
    buf_fini(&e->freed);
}

int engine_define(struct engine *e, const char *match, const struct task_rules *r)
{
    struct trec rec = { .kind = TREC_POOL, .name = { match, (uint32_t)strlen(match) } };
    struct buf b;
    int rc;

    if (rules_check(r) != NULL || rec.name.n == 0 || rec.name.n > TASK_NAME_MAX)
        return SQ_EINVAL;
    buf_init(&b);
    rules_encode(r, &b);
    rec.rules = (struct trec_text){ (const char *)b.data, (uint32_t)b.len };
    rc = b.failed ? SQ_ENOMEM : task_perform(e, &rec);
    buf_fini(&b);
    return rc;
}

int engine_define_keys(struct engine *e, const char *match, const struct buf *keys)
{
    struct trec rec = { .kind = TREC_KEYS, .name = { match, (uint32_t)strlen(match) },
                        .rules = { (const char *)keys->data, (uint32_t)keys->len } };
    const struct pool *p = tqueue_pool(e, &rec.name);

    if (p != NULL && p->keys.bytes.len == keys->len &&
        (keys->len == 0 || memcmp(p->keys.bytes.data, keys->data, keys->len) == 0))
        return 0;
    return keys->failed ? SQ_ENOMEM : task_perform(e, &rec);
}

void engine_limit(struct engine *e, uint32_t max_tasks)
{
    assert(max_tasks > 0 && max_tasks <= TASKS_MAX);
    e->store.max = max_tasks;
    e->names.max = max_tasks * NAMES_OF_TASK;
}

uint32_t engine_limit_read(const struct engine *e)
{
    uint64_t most = u64_max(e->store.n_slots, ((uint64_t)e->names.n + NAMES_OF_TASK - 1) / NAMES_OF_TASK);

    return (uint32_t)u64_max(e->store.max, u64_min(most, TASKS_MAX));
}

void engine_skip(struct engine *e, uint32_t numbers)
{
    e->store.next_order += numbers;
    e->next_lease += numbers;
}

void engine_log_reset(struct engine *e)
{
    buf_reset(&e->log);
}

uint64_t engine_bytes(const struct engine *e)
{
    uint64_t bytes = pages_bytes(&e->store.slots) + pages_bytes(&e->links) +
                     pages_bytes(&e->names.v) + pages_bytes(&e->names.links) +
                     pages_bytes(&e->queues) + pages_bytes(&e->redrive_links) + owns_bytes(&e->owns) +
                     attempts_bytes(&e->attempts) + replies_bytes(&e->replies) +
                     chains_bytes(&e->chains) + offers_bytes(&e->offers) + groups_bytes(&e->groups) +
                     settled_bytes(&e->settled) + progresses_bytes(&e->progresses) + feeds_bytes(&e->feeds) +
                     (e->names.by_hash.cap + e->names.by_task.cap) * sizeof(struct map_slot) +
                     (e->ends != NULL ? END_MARKS * sizeof(*e->ends) : 0);

    for (uint32_t i = 1; i < e->n_queues; i++)
        if (tqueue_at(e, i)->pool != NULL)
            bytes += rank_bytes(&tqueue_at(e, i)->rank) + tqueue_at(e, i)->len + 1;
    return bytes;
}

/* ---- calendar windows of rates ---------------------------------------------------------- */

#define AGAIN_MS 60000 /* a zone that is not known here */
#define SWEEP    8192 /* limiters that are looked at in a turn */

/* Some rule has a window of it. */
static bool is_wanted(const struct engine *e, unsigned zone)
{
    bool wanted = false;

    for (unsigned k = 0; k < RATE_NPERS; k++)
        wanted |= e->tree.windows->v[zone * RATE_NPERS + k].wanted;
    return wanted;
}

int engine_zone(struct engine *e, const char *name, uint32_t *taken)
{
    struct trec r = { .kind = TREC_WINDOW, .name = { name, (uint32_t)strlen(name) } };
    unsigned to = 0;

    for (unsigned z = 1; z <= RATE_ZONES_MAX; z++) {
        const char *has = e->tree.windows != NULL ? e->tree.windows->zone[z] : NULL;

        if (has != NULL && strcmp(has, name) == 0) {
            *taken |= 1u << z;
            return (int)z;
        }
        if (to == 0 && (has == NULL || (!is_wanted(e, z) && (*taken >> z & 1) == 0)))
            to = z;
    }
    r.lo = to * RATE_NPERS;
    *taken |= 1u << to;
    return to == 0 ? SQ_EFULL : task_perform(e, &r) < 0 ? SQ_ENOMEM : (int)to;
}

static int64_t look_at_window(struct engine *e, uint8_t at, struct window *w)
{
    const struct zone z = { e->zones, e->tree.windows->zone[at / RATE_NPERS] };
    const struct meter has = { .window = { w->no, w->from_ms, w->to_ms } };
    struct meter_window next;

    if (!meter_is_over(&has, e->wall_at))
        return w->to_ms;
    if (!meter_window_at(&next, rate_per_seconds(at % RATE_NPERS), &z, e->wall_at)) {
        log_error("event=zone_unknown zone=%s do=\"install tzdata: tasks with rates of its calendar windows wait\"",
                  z.name);
        return e->wall_at + AGAIN_MS;
    }
    task_perform_sure(e, &(const struct trec){ .kind = TREC_WINDOW, .lo = at, .hi = w->no + 1,
                                               .wall = (uint64_t)next.from_ms, .entered = (uint64_t)next.to_ms,
                                               .lease = e->next_lease });
    return next.to_ms;
}

static void look_at_windows(struct engine *e)
{
    e->windows_seen = e->wall_at;
    e->windows_at = MSEC_NEVER;
    e->tree.windows->in_parts = true;
    for (unsigned k = RATE_NPERS; k < UNIT_WINDOWS; k++)
        if (e->tree.windows->v[k].wanted)
            e->windows_at = ms_min(e->windows_at, look_at_window(e, (uint8_t)k, &e->tree.windows->v[k]));
}

/* Begins those that are over, and goes on with those that have begun. Behind it e->windows_at is the wall's
 * moment of the next look. */
static void advance_windows(struct engine *e)
{
    if (e->tree.windows == NULL)
        return;
    e->tree.windows->wall_ahead = e->wall_at - e->at;
    if (e->wall_at >= e->windows_at || e->wall_at < e->windows_seen)
        look_at_windows(e);
    if (e->tree.windows->at != 0)
        windows_sweep(&e->tree, SWEEP, e->at);
}

/* ---- the clock: a timer's meaning is its task's state ----------------------------- */

#define NO_MEMORY_MS 100

uint64_t task_end_of(const struct engine *e, uint64_t for_ms)
{
    return u64_min((uint64_t)e->at + u64_max(for_ms, 1), (uint64_t)WHEEL_MAX - 1);
}

uint64_t task_expiry(const struct engine *e, const struct pool *p, const struct task_own *own)
{
    uint64_t ttl_ms = own != NULL && own->ttl_ms != 0 ? own->ttl_ms - 1 : p->rules.ttl_ms;

    return ttl_ms == 0 ? 0 : task_end_of(e, ttl_ms);
}

/* Most have nothing of their own. */
unsigned task_most_attempts(const struct engine *e, task_slot slot, struct backoff *b)
{
    const struct pool *p = tqueue_of(e, slot)->pool;
    const struct task_own *own = owns_of(&e->owns, slot);
    struct task_rules r;

    *b = p->backoff;
    if (own == NULL)
        return (unsigned)p->rules.max_attempts;
    r = p->rules;
    own_rules(own, &r);
    *b = pool_backoff(&r);
    return (unsigned)r.max_attempts;
}

void task_explain(struct engine *e, task_no no, const struct attempt *a)
{
    struct trec r = { .kind = TREC_EXPLAIN, .no = no, .lo = a->number,
                      .name = { a->reason, a->reason_len } };

    task_perform_sure(e, &r);
}

/* The caller has a part of the answer; after a lapse nobody knows how much. */
static struct attempt interrupted(const struct attempt *how)
{
    static const char lapsed[] = "its task node stopped; a part of the answer may have been passed on";
    struct attempt a = *how;

    if (a.end == ATTEMPT_STATUS)
        return a;
    a.end = ATTEMPT_INTERRUPTED;
    if (a.reason_len == 0) {
        a.reason = lapsed;
        a.reason_len = sizeof(lapsed) - 1;
    }
    return a;
}

void task_attempt_ends(struct engine *e, task_slot slot, const struct call_failed *f, bool taken_back)
{
    const struct task *t = task_at(&e->store, slot);
    const struct task_rules *rules = tqueue_rules(e, slot);
    struct trec r = { .no = task_number(&e->store, slot) };
    struct attempt how = t->passed ? interrupted(&f->how) : f->how;
    struct backoff backoff;
    unsigned most = task_most_attempts(e, slot, &backoff);
    msec_t delay_ms = f->delay_ms;

    assert(t->state == TASK_RUNNING && t->attempts > 0);
    r.why = how.end;
    if (t->cancel) {
        r.kind = TREC_CANCEL;
        r.until = task_end_of(e, rules->result_ms);
        e->counts.cancelled++;
    } else if (f->for_good || t->passed || (t->attempts >= most && !taken_back)) {
        r.kind = TREC_DEAD;
        r.until = task_end_of(e, rules->dead_ms);
        e->counts.dead++;
    } else {
        if (delay_ms < 0)
            delay_ms = backoff_ms(&backoff, t->attempts, r.no * 31 + t->attempts);
        r.kind = taken_back ? TREC_SPARED : TREC_RETRY;
        r.until = task_end_of(e, (uint64_t)ms_max(delay_ms, f->least_ms));
        e->counts.retried++;
    }
    task_perform_sure(e, &r);
    if (how.number != 0 || how.reason_len != 0)
        task_explain(e, r.no, &how);
}

void task_cut_ends(struct engine *e, task_slot slot)
{
    struct trec r = { .kind = TREC_CUT, .no = task_number(&e->store, slot) };

    r.until = task_end_of(e, tqueue_rules(e, slot)->result_ms);
    task_perform_sure(e, &r);
}

/* due: when its delay was over; in the line it has the place of that moment. */
static void enters(struct engine *e, task_slot slot, msec_t due)
{
    struct trec r = { .kind = TREC_ENTER, .no = task_number(&e->store, slot),
                      .entered = (uint64_t)due };

    assert(due >= 0 && due <= e->at);
    r.until = task_expiry(e, tqueue_of(e, slot)->pool, owns_of(&e->owns, slot));
    if (task_perform(e, &r) < 0) {
        if (task_at(&e->store, slot)->state == TASK_SCHEDULED)
            task_at(&e->store, slot)->cancel = 0; /* among the other timers from now on */
        wheel_set(&e->timers, slot, e->at + NO_MEMORY_MS);
    }
}

void task_attempt_unseen(struct engine *e, task_slot slot)
{
    bool stops = task_at(&e->store, slot)->cancel;
    struct trec r = { .kind = TREC_SPARED, .no = task_number(&e->store, slot),
                      .until = task_end_of(e, 1) };

    task_give_back(e, slot);
    task_perform_sure(e, &r);
    if (stops) {
        r.kind = TREC_CANCEL;
        r.until = task_end_of(e, tqueue_rules(e, slot)->result_ms);
        e->counts.cancelled++;
        task_perform_sure(e, &r);
    } else {
        enters(e, slot, e->at);
    }
}

static void let_go(struct engine *e, task_slot slot)
{
    task_perform_sure(e, &(const struct trec){ .kind = TREC_GONE, .no = task_number(&e->store, slot) });
    e->counts.gone++;
}

bool engine_give_way(struct engine *e)
{
    uint32_t slot = e->fenced ? WHEEL_NONE : wheel_first(&e->overs);

    if (slot == WHEEL_NONE)
        return false;
    let_go(e, slot);
    e->counts.gave_way++;
    return true;
}

static void is_due(struct engine *e, task_slot slot, msec_t due)
{
    struct trec r = { .no = task_number(&e->store, slot) };

    switch ((enum task_state)task_at(&e->store, slot)->state) {
    case TASK_SCHEDULED:
    case TASK_RETRYING:
        histo_add(&e->counts.late, (uint64_t)(e->at - due) * 1000);
        enters(e, slot, due);
        return;
    case TASK_WAITING:
        r.kind = TREC_EXPIRE;
        r.until = task_end_of(e, tqueue_rules(e, slot)->result_ms);
        e->counts.expired++;
        break;
    case TASK_RUNNING:
        e->counts.lapsed++;
        task_attempt_ends(e, slot, &(const struct call_failed){ .delay_ms = -1,
                                                                .how.end = ATTEMPT_LAPSED }, false);
        return;
    default:
        assert(task_state_is_final((enum task_state)task_at(&e->store, slot)->state));
        if (task_is_cut(task_at(&e->store, slot)))
            task_cut_ends(e, slot);
        else
            let_go(e, slot);
        return;
    }
    task_perform_sure(e, &r);
}

int task_redrive(struct engine *e, task_slot slot)
{
    struct trec r = { .kind = TREC_REDRIVE, .no = task_number(&e->store, slot),
                      .entered = (uint64_t)e->at,
                      .until = task_expiry(e, tqueue_of(e, slot)->pool,
                                           owns_of(&e->owns, slot)) };

    return task_perform(e, &r);
}

/* Redrives as many of a queue's dead as its rate lets through now, at most `most`. How many. */
static unsigned redrive(struct engine *e, uint32_t queue, unsigned most)
{
    struct tqueue *q = tqueue_at(e, queue);
    struct rate rate = dead_rate(q);
    unsigned n = 0;
    int rc = 0;

    for (; n < most && q->redrive_last != 0 && rate_lets(&rate, q->redrive_tat, e->at); n++) {
        rc = task_redrive(e, line_head(&q->dead));
        if (rc < 0)
            break;
        q->redrive_tat = rate_pass(&rate, q->redrive_tat, e->at);
    }
    if (q->redrive_last != 0)
        wheel_set(&e->redrives, queue,
                  rc < 0 ? e->at + NO_MEMORY_MS : ms_max(e->at, rate_when(&rate, q->redrive_tat)));
    return n;
}

/* The next of both wheels by the moment at which it was due (engine_advance()); WHEEL_NONE. */
static uint32_t pop_due(struct engine *e, msec_t *due)
{
    msec_t shown = MSEC_NEVER, timed = MSEC_NEVER;
    uint32_t moment = wheel_due(&e->walls, e->wall_at, &shown);
    uint32_t timer = wheel_due(&e->timers, e->at, &timed);

    if (moment != WHEEL_NONE)
        shown += e->at - e->wall_at;
    if (timer != WHEEL_NONE && timed <= shown) {
        wheel_clear(&e->timers, timer);
        *due = ms_max(timed, e->swept);
        return timer;
    }
    if (moment != WHEEL_NONE)
        wheel_clear(&e->walls, moment);
    *due = ms_max(shown, e->swept);
    return moment;
}

bool engine_advance(struct engine *e, struct task_now now, unsigned most)
{
    uint32_t slot, queue;
    msec_t due;

    assert(now.ms > 0 && now.wall_ms > 0);
    e->at = engine_now(e, now.ms);
    e->wall_at = now.wall_ms;
    if (now.wall_ms < e->walls.now)
        wheel_rewind(&e->walls, now.wall_ms);
    if (e->fenced)
        return false;
    advance_windows(e);
    for (; most > 0 && (slot = pop_due(e, &due)) != WHEEL_NONE; most--)
        is_due(e, slot, due);
    if (most > 0)
        e->swept = e->at;
    for (; most > 0 && (slot = wheel_due(&e->overs, e->at, &due)) != WHEEL_NONE; most--)
        let_go(e, slot);
    while (most > 0 && (queue = wheel_pop(&e->redrives, e->at)) != WHEEL_NONE)
        most -= redrive(e, queue, most);
    tree_advance(&e->tree, e->at);
    allowance_advance(&e->allowance, e->at);
    names_advance(&e->names, e->at);
    return most == 0;
}

msec_t engine_idle_ms(const struct engine *e, struct task_now now)
{
    msec_t at = engine_now(e, now.ms);
    msec_t first = ms_min(ms_min(ms_min(wheel_next(&e->timers), wheel_next(&e->overs)),
                                 wheel_next(&e->redrives)),
                          ms_min(ms_min(tree_next(&e->tree), wheel_next(&e->names.ends)),
                                 allowance_next(&e->allowance, at)));
    msec_t wall = ms_min(wheel_next(&e->walls), e->tree.windows != NULL ? e->windows_at : MSEC_NEVER);

    if (e->tree.windows != NULL && e->tree.windows->at != 0)
        return 0;
    first = first == MSEC_NEVER ? MSEC_NEVER : ms_max(first - at, 0);
    return wall == MSEC_NEVER ? first : ms_min(first, ms_max(wall - now.wall_ms, 0));
}
