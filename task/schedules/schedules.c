/* schedules.c: records, their clock. */
#include "task/schedules/schedules.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "common/wire/codec.h"

#define LOG_MODULE "schedules"
#define AGAIN_MS   1000 /* pause after a tick for which there was no room */
#define LOOK_MS    1000 /* a jump of the wall clock is seen so soon */
#define ZONE_MS    60000 /* a zone that is not known is looked for again */
#define KEY_ROOM   (TASK_NAME_MAX + 24)
#define RUN_KEY_ROOM (SCHEDULE_NAME_MAX + TASK_IDEM_MAX + 8)

void schedules_init(struct schedules *s, const struct zones *zones)
{
    *s = (struct schedules){ .zones = zones, .next_id = 1 };
}

static void schedule_free(struct task_schedule *k)
{
    arena_fini(&k->mem);
    buf_fini(&k->bytes);
    free(k);
}

void schedules_fini(struct schedules *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        schedule_free(s->v[i]);
    free(s->v);
}

/* ---- records ----------------------------------------------------------------------------- */

static uint32_t place_of(const struct schedules *s, uint64_t id)
{
    uint32_t i = 0;

    while (i < s->n && s->v[i]->id != id)
        i++;
    return i;
}

static struct recur recur_of(const struct msg_task_schedule *m)
{
    return (struct recur){ .every_ms = m->cron[0] != '\0' ? 0 : m->every_ms,
                           .from_ms = m->from_ms, .until_ms = m->until_ms };
}

/* *k is made of its bytes. What is read has been checked when it was defined. */
static int read_definition(struct task_schedule *k)
{
    struct msg *m = arena_alloc(&k->mem, sizeof(*m));
    struct cron_error e;
    int rc;

    if (m == NULL || k->bytes.failed)
        return SQ_ENOMEM;
    rc = msg_decode(MSG_TASK_SCHEDULE, k->bytes.data, k->bytes.len, &k->mem, m);
    if (rc < 0)
        return rc;
    k->def = &m->task_schedule;
    k->recur = recur_of(k->def);
    if (k->def->cron[0] == '\0' ? k->recur.every_ms == 0
                                : !cron_read(&k->recur.cron, k->def->cron, &e))
        return SQ_EPROTO;
    if (k->def->catch_up == CATCH_UP_ALL && k->def->catch_up_max == 0)
        return SQ_EPROTO;
    return recur_wrong(&k->recur) != NULL ? SQ_EPROTO : 0;
}

static int make(struct task_schedule **out, const struct trec *r)
{
    struct task_schedule *k = calloc(1, sizeof(*k));
    int rc;

    if (k == NULL)
        return SQ_ENOMEM;
    k->id = r->lo;
    k->last_ms = (int64_t)r->until;
    arena_init(&k->mem);
    buf_init(&k->bytes);
    buf_append(&k->bytes, r->name.p, r->name.n);
    rc = read_definition(k);
    if (rc < 0)
        schedule_free(k);
    else
        *out = k;
    return rc;
}

static int apply_schedule(struct schedules *s, const struct trec *r)
{
    uint32_t i = place_of(s, r->lo);
    struct task_schedule *k = NULL;
    int rc;

    if (r->lo == 0 || r->until > RECUR_AT_MAX || (i == s->n && r->name.n == 0))
        return SQ_EPROTO;
    if (r->name.n > 0) {
        rc = make(&k, r);
        if (rc < 0)
            return rc;
    }
    if (i == s->n && !GROW(s->v, s->n, s->cap, 16)) {
        schedule_free(k);
        return SQ_ENOMEM;
    }
    s->next_id = u64_max(s->next_id, r->lo + 1);
    s->due_ms = 0;
    if (i == s->n) {
        s->v[s->n++] = k;
        return 0;
    }
    if (k != NULL) {
        k->fired_ms = s->v[i]->fired_ms;
        k->no = s->v[i]->no;
    }
    schedule_free(s->v[i]);
    s->v[i] = k != NULL ? k : s->v[--s->n];
    return 0;
}

static int apply_tick(struct schedules *s, const struct trec *r)
{
    uint32_t i = place_of(s, r->lo);

    if (i == s->n || r->until > RECUR_AT_MAX || r->why >= TICK_NOUTCOMES)
        return SQ_EPROTO;
    s->v[i]->last_ms = (int64_t)r->until;
    s->v[i]->outcome = (uint8_t)r->why;
    if (r->why == TICK_FIRED) {
        s->v[i]->fired_ms = (int64_t)r->until;
        s->v[i]->no = r->no;
    }
    s->v[i]->next_ms = s->v[i]->again_ms = 0;
    s->due_ms = 0;
    return 0;
}

int schedules_apply(struct schedules *s, const struct trec *r)
{
    assert(schedules_has_record(r->kind));
    return r->kind == TREC_SCHEDULE ? apply_schedule(s, r) : apply_tick(s, r);
}

int schedules_perform(struct schedules *s, const struct trec *r, struct buf *log)
{
    int rc = schedules_apply(s, r);

    if (rc == 0)
        trec_append(r, log);
    return rc;
}

static struct trec tick(const struct task_schedule *k, int64_t at_ms, enum tick_outcome outcome,
                        task_no no)
{
    return (struct trec){ .kind = TREC_TICK, .lo = k->id, .until = (uint64_t)at_ms, .no = no,
                          .why = outcome };
}

void schedules_snapshot(const struct schedules *s, struct buf *out)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const struct task_schedule *k = s->v[i];
        struct trec r = { .kind = TREC_SCHEDULE, .lo = k->id, .until = (uint64_t)k->last_ms,
                          .name = { (const char *)k->bytes.data, (uint32_t)k->bytes.len } };
        struct trec fired = tick(k, k->fired_ms, TICK_FIRED, k->no);
        struct trec last = tick(k, k->last_ms, (enum tick_outcome)k->outcome, 0);

        trec_append(&r, out);
        if (k->fired_ms != 0)
            trec_append(&fired, out);
        if (k->fired_ms != 0 ? k->outcome != TICK_FIRED : k->outcome != TICK_NONE)
            trec_append(&last, out);
    }
}

/* ---- the clock --------------------------------------------------------------------------- */

/* When something is to be done for it. */
static int64_t next_of(const struct schedules *s, struct task_schedule *k, int64_t wall_ms)
{
    struct zone z = { s->zones, k->def->zone };
    int32_t offset;

    if (k->def->paused)
        return RECUR_NEVER;
    if (k->next_ms == 0 && k->again_ms <= wall_ms) {
        if (zone_offset(&z, 0, &offset)) {
            k->next_ms = recur_next(&k->recur, &z, k->last_ms);
        } else {
            k->again_ms = wall_ms + ZONE_MS;
            log_error("event=zone_unknown zone=%s queue=%s schedule=%s", z.name, k->def->queue,
                      k->def->name);
        }
    }
    return k->next_ms > k->again_ms ? k->next_ms : k->again_ms;
}

/* When the first is due. */
static int64_t first_due(struct schedules *s, int64_t wall_ms)
{
    if (s->due_ms == 0) {
        s->due_ms = RECUR_NEVER;
        for (uint32_t i = 0; i < s->n; i++) {
            int64_t next = next_of(s, s->v[i], wall_ms);

            s->due_ms = next < s->due_ms ? next : s->due_ms;
        }
    }
    return s->due_ms;
}

/* The clock went back, or nothing is known of it. Who has a tick far ahead of it counts from now on. */
static void clock_went_back(struct schedules *s, int64_t wall_ms, struct buf *log)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct task_schedule *k = s->v[i];
        struct trec r = tick(k, wall_ms, TICK_NONE, 0);

        k->again_ms = 0;
        if (k->last_ms - RECUR_AHEAD_MS <= wall_ms)
            continue;
        log_warn("event=tick_ahead queue=%s schedule=%s ahead_s=%" PRId64, k->def->queue,
                 k->def->name, (k->last_ms - wall_ms) / 1000);
        (void)!schedules_perform(s, &r, log); /* needs no memory but the log's */
    }
    s->due_ms = 0;
}

/* The task of a tick, into *no: 0: it is there; else as engine_submit(). */
static int submit(const struct task_schedule *k, const struct schedules_host *h, int64_t at_ms,
                  int64_t wall_ms, task_no *no)
{
    struct task_put put = k->def->put;
    char key[KEY_ROOM];
    int64_t when = at_ms + recur_jitter(k->def->name, at_ms, k->def->jitter_ms);
    int rc;

    put.queue = k->def->queue;
    put.at_ms = when > wall_ms ? when : 0;
    put.key.p = (const uint8_t *)key;
    put.key.n = (uint32_t)snprintf(key, sizeof(key), "%s@%" PRId64, k->def->name, at_ms / 1000);
    rc = h->submit(h->ctx, &put, no);
    return rc == 1 ? 0 : rc;
}

static bool is_live(const struct task_schedule *k, const struct schedules_host *h)
{
    return k->no != 0 && h->state(h->ctx, k->no) != TASK_FREE &&
           !task_state_is_final(h->state(h->ctx, k->no));
}

/* 0: it has been dealt with; < 0: there is no room now. */
static int fire(struct schedules *s, struct task_schedule *k, const struct schedules_host *h,
                int64_t at_ms, int64_t wall_ms, struct buf *log)
{
    bool live = is_live(k, h);
    struct trec r = tick(k, at_ms, TICK_SKIPPED, 0);
    int rc;

    if (live && k->def->overlap == OVERLAP_SKIP) {
        s->counts.skipped++;
        return schedules_perform(s, &r, log);
    }
    rc = submit(k, h, at_ms, wall_ms, &r.no);
    if (rc < 0 && rc != SQ_ECONFLICT && rc != SQ_EHELD && rc != SQ_EINVAL)
        return rc;
    r.why = rc == 0 ? TICK_FIRED : TICK_REFUSED;
    if (live && rc == 0 && k->def->overlap == OVERLAP_CANCEL_OLD && r.no != k->no)
        h->cancel(h->ctx, k->no);
    s->counts.fired += rc == 0;
    s->counts.refused += rc < 0;
    histo_add(&s->counts.late, (uint64_t)(wall_ms - at_ms) * 1000);
    return schedules_perform(s, &r, log);
}

/* The newest tick that was dealt with stays what it is: so it is written again, with this task. */
int schedules_run(struct schedules *s, struct task_schedule *k, const struct schedules_host *h,
                  struct bytes_of key, enum schedule_run *ran, task_no *no, struct buf *log)
{
    struct trec r = tick(k, k->last_ms, TICK_FIRED, 0);
    bool live = is_live(k, h);
    struct task_put put = k->def->put;
    char text[RUN_KEY_ROOM];
    int rc;

    put.queue = k->def->queue;
    put.key.p = (const uint8_t *)text;
    put.key.n = key.n == 0 ? 0 : (uint32_t)snprintf(text, sizeof(text), "%s@run:%.*s", k->def->name,
                                                    (int)key.n, (const char *)key.p);
    *ran = SCHEDULE_SAME;
    *no = put.key.n > 0 ? h->keyed(h->ctx, put.queue, text, put.key.n) : 0;
    if (*no != 0)
        return 0;
    *ran = SCHEDULE_SKIPPED;
    *no = k->no;
    if (live && k->def->overlap == OVERLAP_SKIP)
        return 0;
    rc = h->submit(h->ctx, &put, &r.no);
    if (rc < 0)
        return rc;
    if (live && k->def->overlap == OVERLAP_CANCEL_OLD && r.no != k->no)
        h->cancel(h->ctx, k->no);
    *ran = SCHEDULE_FIRED;
    *no = r.no;
    return schedules_perform(s, &r, log);
}

static void fire_due(struct schedules *s, struct task_schedule *k, const struct schedules_host *h,
                     int64_t wall_ms, struct buf *log)
{
    struct zone z = { s->zones, k->def->zone };
    struct due d;

    recur_due(&k->recur, &z, k->last_ms, wall_ms, (enum catch_up)k->def->catch_up,
              k->def->catch_up_max, &d);
    if (d.n == 0 && d.missed == 0) /* zone is not known any more */
        k->next_ms = 0;
    if (d.missed > 0) {
        struct trec r = tick(k, d.newest, TICK_MISSED, 0);

        s->counts.missed += d.missed;
        log_warn("event=ticks_missed queue=%s schedule=%s ticks=%" PRIu64, k->def->queue,
                 k->def->name, d.missed);
        (void)!schedules_perform(s, &r, log); /* needs no memory but the log's */
    }
    for (unsigned i = 0; i < d.n; i++)
        if (fire(s, k, h, d.v[i], wall_ms, log) < 0) {
            k->again_ms = wall_ms + AGAIN_MS;
            return;
        }
}

void schedules_advance(struct schedules *s, const struct schedules_host *h, int64_t wall_ms,
                       struct buf *log)
{
    if (s->n == 0)
        return;
    if (s->seen_ms == 0 || wall_ms < s->seen_ms)
        clock_went_back(s, wall_ms, log);
    s->seen_ms = wall_ms;
    if (first_due(s, wall_ms) > wall_ms)
        return;
    for (uint32_t i = 0; i < s->n; i++)
        if (next_of(s, s->v[i], wall_ms) <= wall_ms)
            fire_due(s, s->v[i], h, wall_ms, log);
    s->due_ms = 0;
}

msec_t schedules_idle_ms(struct schedules *s, int64_t wall_ms)
{
    return s->n == 0 ? MSEC_NEVER : ms_min(ms_max(first_due(s, wall_ms) - wall_ms, 0), LOOK_MS);
}

uint64_t schedules_bytes(const struct schedules *s)
{
    uint64_t bytes = s->cap * sizeof(s->v[0]);

    for (uint32_t i = 0; i < s->n; i++)
        bytes += sizeof(*s->v[i]) + 2 * s->v[i]->bytes.cap; /* encoded, decoded */
    return bytes;
}
