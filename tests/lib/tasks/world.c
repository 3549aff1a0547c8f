/* world.c: turns, the journal, and what befalls the node. */
#include "tests/lib/tasks/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "task/engine/change.h"
#include "task/engine/engine.h"
#include "tests/lib/engine_state.h"
#include "tests/lib/tasks/actors.h"
#include "tests/lib/tasks/model.h"
#include "tests/lib/tasks/names.h"
#include "tests/lib/tasks/settled.h"

#define START      ((msec_t)1780000000000)
#define GROUP_HEAD 12u

void world_broke(struct world *w, const char *fmt, ...)
{
    int n;
    va_list ap;

    if (w->why[0] != 0)
        return;
    n = snprintf(w->why, sizeof(w->why), "step %lu, %ld ms: ", w->steps, (long)(w->e->at - START));
    va_start(ap, fmt);
    vsnprintf(w->why + n, sizeof(w->why) - (size_t)n, fmt, ap);
    va_end(ap);
}

/* ---- the journal ------------------------------------------------------------------- */

static uint64_t sum_of(const uint8_t *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u ^ n;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static void write_group(struct buf *journal, const struct buf *records)
{
    uint32_t n = (uint32_t)records->len;
    uint64_t sum = sum_of(records->data, n);

    buf_append(journal, &n, sizeof(n));
    buf_append(journal, &sum, sizeof(sum));
    buf_append(journal, records->data, n);
}

static int read_group(struct engine *e, const uint8_t *p, size_t len)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < len;) {
        size_t n = p[at] | (size_t)p[at + 1] << 8 | (size_t)p[at + 2] << 16;

        rc = engine_replay(e, p[at + 3], p + at + TREC_FRAME, n);
        if (rc < 0)
            fprintf(stderr, "record %s: %d\n", trec_name(p[at + 3]), rc);
        at += TREC_FRAME + n;
    }
    return rc;
}

/* Every group that is whole, up to the first that is not. */
static int read_journal(struct world *w, struct engine *e)
{
    size_t at = 0;

    if (w->plan.shared)
        return shared_read(&w->shared, read_group, e);
    while (at + GROUP_HEAD <= w->journal.len) {
        const uint8_t *p = w->journal.data + at;
        uint32_t n;
        uint64_t sum;
        int rc;

        memcpy(&n, p, sizeof(n));
        memcpy(&sum, p + sizeof(n), sizeof(sum));
        if (n > w->journal.len - at - GROUP_HEAD || sum_of(p + GROUP_HEAD, n) != sum)
            break;
        rc = read_group(e, p + GROUP_HEAD, n);
        if (rc < 0)
            return rc;
        at += GROUP_HEAD + n;
    }
    w->torn += at != w->journal.len;
    w->journal.len = at;
    return 0;
}

uint32_t world_weigh(uint64_t body)
{
    return (uint32_t)(body % 1000);
}

static void new_engine(struct world *w)
{
    struct engine_opts o = { .max_tasks = WORLD_TASKS, .max_keys = 200, .seed = { 7 },
                             .now_ms = w->now.ms, .weigh = world_weigh };

    w->e = calloc(1, sizeof(*w->e));
    if (w->e == NULL)
        abort();
    engine_init(w->e, &o);
}

static void free_engine(struct engine *e)
{
    engine_fini(e);
    free(e);
}

/* The turn's group is on the disk, or in Redis. */
static void flush(struct world *w)
{
    uniques_flush(w);
    w->gave_way |= w->e->counts.gave_way > 0;
    if (w->plan.shared)
        shared_write(&w->shared, w->e);
    else if (w->e->log.len > 0)
        write_group(&w->journal, &w->e->log);
    if (w->shared.broken)
        world_broke(w, "J18: an old owner of Redis' keys is believed, or a new one is not");
    engine_log_reset(w->e);
}

/* From the journal, as after a restart; or by the next owner. at: what its axis would show by now. */
static void reopen(struct world *w, msec_t at)
{
    uint64_t levels = levels_digest(w->e, at), read;

    uniques_doubt(w);
    free_engine(w->e);
    if (w->plan.shared)
        shared_open(&w->shared);
    new_engine(w);
    if (read_journal(w, w->e) < 0)
        world_broke(w, "the journal cannot be read");
    read = levels_digest(w->e, at);
    if (engine_opened(w->e, w->now.ms, at) < 0)
        world_broke(w, "the journal is not whole");
    if (levels_digest(w->e, at) != read)
        world_broke(w, "J27: buckets have other levels behind a restart");
    flush(w);
    w->told = 0;
    model_restarts(w->model, w->e->at, read != levels);
}

/* Two engines from the same records are the same; and the journal says all that there is. */
static void compare(struct world *w)
{
    struct engine *live = w->e;

    new_engine(w);
    if (read_journal(w, w->e) < 0)
        world_broke(w, "the journal cannot be read");
    if (engine_digest(w->e) != engine_digest(live))
        world_broke(w, "the journal says something else than what is there");
    if (levels_digest(w->e, live->at) != levels_digest(live, live->at))
        world_broke(w, "J27: buckets have other levels behind a replay");
    free_engine(w->e);
    w->e = live;
    if (!w->plan.shared)
        settled_audit(w);
}

/* The whole state in one group; what was written before it goes. */
static void snapshot(struct world *w)
{
    struct buf all;

    buf_init(&all);
    engine_snapshot(w->e, &all);
    buf_reset(&w->journal);
    write_group(&w->journal, &all);
    w->snap_bytes = w->journal.len;
    w->snapshots++;
    buf_fini(&all);
}

/* ---- faults ------------------------------------------------------------------------ */

static void nobody_is_answered(struct world *w)
{
    for (unsigned i = 0; i < w->n_said; i++)
        model_doubts(w, &w->said[i]);
}

/* The machine's: the wall alone goes on. How long. */
static msec_t sleep_long(struct world *w)
{
    msec_t ms = (msec_t)rng_below(&w->rng, 8 * 3600000);

    w->now.wall_ms += ms;
    w->sleeps++;
    return ms;
}

/* kill -9 amid the write of the turn's group: it is torn somewhere, or whole. */
static void kill_node(struct world *w)
{
    size_t before = w->journal.len;
    msec_t down = (msec_t)(rng_unit(&w->rng) * w->plan.down);
    msec_t at = engine_now(w->e, w->now.ms) + down;

    if (w->plan.shared)
        shared_dies(&w->shared, w->e, rng_chance(&w->rng, w->plan.whole));
    else
        flush(w);
    if (!w->plan.shared && !rng_chance(&w->rng, w->plan.whole))
        w->journal.len = before + rng_below(&w->rng, w->journal.len - before + 1);
    nobody_is_answered(w);
    w->now.ms += down;
    w->now.wall_ms += down;
    if (rng_chance(&w->rng, w->plan.jump)) { /* the node's axis begins at the wall, which was set */
        w->now.ms += (msec_t)rng_below(&w->rng, 200000) - 100000;
        w->jumps++;
    }
    if (rng_chance(&w->rng, 10 * w->plan.sleep)) /* as that: its partition's axis stood */
        w->now.ms += sleep_long(w);
    reopen(w, at);
    w->kills++;
}

/* The disk refuses the group: the turn has not happened. */
static void refuse(struct world *w)
{
    msec_t at = engine_now(w->e, w->now.ms);

    engine_log_reset(w->e);
    nobody_is_answered(w);
    reopen(w, at);
    w->refused++;
}

/* Another node takes the partition from a snapshot, or opens it in Redis; the old owner does nothing
 * any more (J18). */
static void move(struct world *w)
{
    msec_t at = engine_now(w->e, w->now.ms);
    struct engine *old;
    struct trec_text name = task_text('q', 0);
    struct taken t;

    if (w->plan.shared)
        shared_open(&w->shared);
    else
        snapshot(w);
    old = w->e;
    engine_fence(old, true);
    engine_advance(old, (struct task_now){ w->now.ms + 1000000, w->now.wall_ms + 1000000 }, 1000);
    if (engine_take(old, &name, 1, 0, &t) != SQ_ESTALE || old->log.len != 0)
        world_broke(w, "J18: a fenced owner does something");
    new_engine(w);
    if (read_journal(w, w->e) < 0)
        world_broke(w, "the snapshot cannot be read");
    if (engine_digest(w->e) != engine_digest(old))
        world_broke(w, "the new owner has something else");
    if (engine_opened(w->e, w->now.ms, at) < 0)
        world_broke(w, "the journal is not whole");
    if (levels_digest(w->e, at) != levels_digest(old, at))
        world_broke(w, "J27: the new owner's buckets have other levels");
    flush(w);
    w->told = 0;
    model_restarts(w->model, w->e->at, false);
    free_engine(old);
    w->moves++;
}

static void pass_time(struct world *w)
{
    msec_t ms = (msec_t)rng_below(&w->rng, w->plan.step_ms + 1);

    w->now.ms += ms;
    w->now.wall_ms += ms;
    if (rng_chance(&w->rng, w->plan.sleep))
        sleep_long(w);
    if (!rng_chance(&w->rng, w->plan.jump))
        return;
    w->now.wall_ms += (msec_t)rng_below(&w->rng, 7200001) - 3600000;
    w->jumps++;
}

/* ---- the clock --------------------------------------------------------------------- */

/* Of those that are about to enter: when they are due on the node's axis; else MSEC_NEVER. */
static void note_due(struct world *w, msec_t at)
{
    for (task_slot s = 0; s < w->e->store.n_slots; s++) {
        enum task_state state = (enum task_state)task_at(&w->e->store, s)->state;
        struct task_view v;

        w->due[s] = MSEC_NEVER;
        if (state != TASK_SCHEDULED && state != TASK_RETRYING)
            continue;
        look_at_task(w->e, s, &v);
        w->due[s] = v.by_wall ? v.until_ms + at - w->now.wall_ms : v.until_ms;
    }
}

/* Entries have the order of the due moments. */
static void check_entries(struct world *w)
{
    const struct buf *log = &w->e->log;
    msec_t last = INT64_MIN;

    for (size_t at = 0; at < log->len;) {
        size_t n = log->data[at] | (size_t)log->data[at + 1] << 8 | (size_t)log->data[at + 2] << 16;
        struct task_view v;
        struct trec r;

        if (trec_decode(log->data[at + 3], log->data + at + TREC_FRAME, n, &r) < 0)
            world_broke(w, "the log cannot be read");
        at += TREC_FRAME + n;
        if (r.kind == TREC_REDRIVE && engine_look(w->e, r.no, &v) == 0)
            model_redriven(w, (unsigned)(v.queue[1] - '0'));
        if (r.kind == TREC_EXPIRE)
            shares_begin(&w->model->shares);
        if (r.kind != TREC_ENTER)
            continue;
        if (w->due[task_slot_of(r.no)] < last)
            world_broke(w, "J6: task %lx enters behind one that was due %ld ms later", r.no,
                        (long)(last - w->due[task_slot_of(r.no)]));
        last = w->due[task_slot_of(r.no)];
        w->entries++;
    }
}

static void advance(struct world *w)
{
    msec_t at = ms_max(w->e->at, w->now.ms + w->e->ahead_ms);
    bool any = engine_idle_ms(w->e, w->now) == 0;

    model_wall(w->model, w->now.wall_ms);
    assert(w->e->log.len == 0);
    if (any)
        note_due(w, at);
    engine_advance(w->e, w->now, 100000);
    if (any)
        check_entries(w);
}

/* An operator defines limits of keys, and is answered. */
static void redefine(struct world *w)
{
    struct buf keys;

    limits_draw(&w->limits, &w->rng);
    buf_init(&keys);
    key_limits_encode(w->limits.v, w->limits.n, &keys);
    if (engine_define_keys(w->e, "*", &keys) < 0)
        world_broke(w, "limits of keys are refused");
    buf_fini(&keys);
    flush(w);
    model_redefined(w->model);
}

/* A manager says what the partition may start, or is not heard for a while. */
static void tell_rate(struct world *w)
{
    w->told = 1 + (rng_chance(&w->rng, 0.2) ? 0 : rng_below(&w->rng, 50000));
    w->told_until = w->e->at + ALLOWANCE_TOLD_MS;
    allowance_tell(&w->e->allowance, w->told - 1, w->e->at);
    model_redefined(w->model);
}

static void one_step(struct world *w)
{
    w->n_said = 0;
    model_begins_turn(w->model);
    pass_time(w);
    advance(w);
    actors_step(w);
    w->steps++;
    if (rng_chance(&w->rng, w->plan.kill)) {
        kill_node(w);
    } else if (rng_chance(&w->rng, w->plan.refuse)) {
        refuse(w);
    } else {
        flush(w);
        for (unsigned i = 0; i < w->n_said; i++)
            model_hears(w, &w->said[i]);
    }
    advance(w);
    flush(w);
    if (!w->plan.shared && rng_chance(&w->rng, w->plan.snapshot))
        snapshot(w);
    if (rng_chance(&w->rng, w->plan.move))
        move(w);
    if (rng_chance(&w->rng, w->plan.redefine))
        redefine(w);
    if (w->plan.rules.until_told != 0 && rng_chance(&w->rng, w->plan.tell))
        tell_rate(w);
    if (w->steps % 64 == 0)
        compare(w);
    model_check(w, w->steps % 16 == 0);
}

bool world_run(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    plan_draw_tasks(&w->plan, seed);
    rng_seed(&w->rng, seed);
    buf_init(&w->journal);
    if (w->plan.shared)
        shared_init(&w->shared, &w->rng, w->plan.lost);
    w->now = (struct task_now){ START, START };
    w->model = model_new();
    new_engine(w);
    engine_advance(w->e, w->now, 1);
    if (rules_check(&w->plan.rules) != NULL || engine_zone(w->e, "", &(uint32_t){ 0 }) != 1 || engine_define(w->e, "*", &w->plan.rules) != 0)
        world_broke(w, "rules: %s", rules_check(&w->plan.rules));
    flush(w);
    redefine(w);
    while (w->steps < w->plan.steps && w->why[0] == 0)
        one_step(w);
    return w->why[0] == 0;
}

void world_free(struct world *w)
{
    free_engine(w->e);
    model_free(w->model);
    buf_fini(&w->journal);
    shared_fini(&w->shared);
}
