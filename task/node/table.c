/* table.c: its beginning and its end; links; what a message means; the end of a turn. */
#include "task/node/table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "task/calls/endpoint.h"
#include "task/calls/estimates.h"
#include "task/engine/change.h"
#include "task/node/body.h"
#include "task/node/calls.h"
#include "task/node/commands.h"
#include "task/node/following.h"
#include "task/node/keep.h"
#include "task/node/operate.h"
#include "task/node/orders.h"
#include "task/node/part_copy.h"
#include "task/node/parts.h"
#include "task/node/passing.h"
#include "task/node/report.h"
#include "task/node/wait.h"

struct tasktab *tasktab_new(const struct tasktab_opts *o)
{
    struct tasktab *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    assert(o->max_tasks > 0 && o->bodies.put != NULL);
    t->o = *o;
    copy_text(t->addr, sizeof(t->addr), o->addr);
    copy_text(t->admin, sizeof(t->admin), o->admin);
    map_init(&t->by_no, 0);
    list_init(&t->peers);
    list_init(&t->openings);
    list_init(&t->levels);
    list_init(&t->followers);
    list_init(&t->behind);
    list_init(&t->places);
    map_init(&t->by_follower, 0); /* our own numbers */
    pages_init(&t->waits, sizeof(struct wait));
    pages_init(&t->links, sizeof(struct wheel_link));
    wheel_init(&t->ends, &t->links, 1);
    t->calls_due = MSEC_NEVER;
    buf_init(&t->freed);
    buf_init(&t->bytes);
    buf_init(&t->chunk);
    return t;
}

void tasktab_free(struct tasktab *t)
{
    if (t == NULL)
        return;
    tasktab_followers_free(t);
    each_tpeer (t, p) {
        tasktab_unwait(t, p);
        tasktab_unhold_all(p);
        free(p);
    }
    each_part (t, p)
        tasktab_part_free(t, p);
    tasktab_openings_free(t);
    levels_forget_all(&t->levels);
    map_fini(&t->by_no);
    pages_fini(&t->waits);
    pages_fini(&t->links);
    buf_fini(&t->freed);
    buf_fini(&t->bytes);
    buf_fini(&t->chunk);
    free(t->part);
    free(t);
}

void tasktab_up(struct tasktab *t, peer_no no, uint8_t role, const char *name,
                struct outbox *out)
{
    struct tpeer *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        out->failed = true; /* the shell closes the link */
        return;
    }
    p->no = no;
    p->role = role;
    list_init(&p->waits);
    list_init(&p->owed);
    list_init(&p->held);
    copy_text(p->name, sizeof(p->name), name);
    list_push_back(&t->peers, &p->node);
    if (role == RPC_MANAGER)
        tasktab_register(t, no, out);
}

void tasktab_down(struct tasktab *t, peer_no no)
{
    struct tpeer *p = tasktab_peer(t, no);

    if (p == NULL)
        return;
    if (t->manager == no)
        t->manager = 0;
    tasktab_unwait(t, p);
    tasktab_readers_gone(t, p);
    tasktab_followers_gone(t, p);
    each_part (t, x) {
        notices_lost(&x->notices, no);
        notices_lost(&x->relays, no);
    }
    tasktab_outs_down(t, no);
    if (t->o.large.ctx != NULL)
        t->o.large.drop(t->o.large.ctx, no, 0);
    list_remove(&t->peers, &p->node);
    free(p);
}

/* Questions that are answered to the asker: by tasktab_put(), and so on. */
#define QUESTIONS(X)                                                                     \
    X(PUT, put) X(GET, get) X(UPLOAD, upload) X(READ, read) X(TAKE, take) X(SETTLE, settle)      \
    X(PROGRESS, progress) X(FEED, feed) X(COMPLETE, complete) X(CHANGE, change)                  \
    X(SCHEDULE, schedule) X(GROUP, group) X(FIRST, first) X(DO, do)

void tasktab_msg(struct tasktab *t, struct task_now now, peer_no from, uint64_t rid,
                 const struct msg *m, struct outbox *out)
{
    struct asker a = { tasktab_peer(t, from), rid };

    if (a.peer == NULL)
        return;
    t->now = now;
    switch (m->type) {
#define X(NAME, name)                                                                    \
    case MSG_TASK_##NAME:                                                                \
        tasktab_##name(t, a, &m->task_##name, out);                                      \
        break;
        QUESTIONS(X)
#undef X
    case MSG_TASK_FLOW:
        tasktab_flow(t, from, &m->task_flow);
        break;
    case MSG_TASK_NOTICE_ANS:
        tasktab_notice_answered(t, &m->task_notice_ans);
        break;
    case MSG_PCOPY_BEGIN:
        tasktab_in_begin(t, from, &m->pcopy_begin, out);
        break;
    case MSG_PCOPY_CHUNK:
        tasktab_in_chunk(t, from, &m->pcopy_chunk, out);
        break;
    case MSG_PCOPY_ACK:
        tasktab_out_ack(t, from, &m->pcopy_ack);
        break;
    default:
        tasktab_order(t, a.peer, m, out);
        break;
    }
}

void tasktab_hold(struct tasktab *t, bool on)
{
    t->reads |= t->hold && !on; /* heads that came meanwhile */
    t->hold = on;
}

void tasktab_stop(struct tasktab *t, struct outbox *out)
{
    t->stopping = true;
    each_part (t, p)
        tasktab_waits_drop(t, p, CODE_DONE, out);
}

void tasktab_full(struct tasktab *t, bool on)
{
    t->full = on;
}

bool tasktab_registered(const struct tasktab *t)
{
    return t->no != 0;
}

static void count_part(const struct part *p, struct tasktab_counts *n)
{
    const struct engine_counts *c = &p->e.counts;
    const uint32_t *in = p->e.store.n;

#define X(m) n->engine.m += c->m;
    ENGINE_COUNTS(X)
#undef X
    histo_join(&n->engine.late, &c->late);
    histo_join(&n->engine.wait, &c->wait);
    histo_join(&n->engine.eta_error, &c->eta_error);
    histo_join(&n->engine.eta_error_told, &c->eta_error_told);
    n->scheduled += in[TASK_SCHEDULED] + in[TASK_RETRYING];
    n->waiting += in[TASK_WAITING];
    n->waiting_units += p->e.units;
    n->running += in[TASK_RUNNING];
    n->finals += in[TASK_SUCCEEDED] + in[TASK_CANCELLED] + in[TASK_EXPIRED] + in[TASK_DEAD];
    n->dead_now += in[TASK_DEAD];
    n->queues += p->e.queues_now;
    n->waiting_bytes += p->e.store.bytes;
    n->core_bytes += engine_bytes(&p->e) + schedules_bytes(&p->schedules) + p->notices.bytes +
                     p->relays.bytes;
    n->schedules += p->schedules.n;
    n->eta_crowded += p->estimates != NULL ? p->estimates->crowded : 0;
    n->relays += notices_n(&p->relays);
    n->notices += notices_n(&p->notices);
    n->notices_taken += p->notices.taken;
    n->notices_dropped += p->notices.dropped;
    n->ticks.fired += p->schedules.counts.fired;
    n->ticks.skipped += p->schedules.counts.skipped;
    n->ticks.missed += p->schedules.counts.missed;
    n->ticks.refused += p->schedules.counts.refused;
    histo_join(&n->ticks.late, &p->schedules.counts.late);
    for (size_t h = 0; h < TASK_NHOLDS; h++)
        n->held[h] += p->held[h];
}

/* tasks, of which `over` give way. */
static void count_full(struct tasktab_counts *n, uint64_t tasks, uint64_t over, uint64_t max_tasks)
{
    double full = (double)(tasks - over) / (double)max_tasks;

    n->full = full > n->full ? full : n->full;
}

void tasktab_count(const struct tasktab *t, struct tasktab_counts *n)
{
    uint64_t over = 0;

    *n = t->n;
    n->parts = t->n_parts;
    n->tasks = tasktab_tasks(t);
    n->max_tasks = t->o.max_tasks;
    n->waiting_calls = t->ends.n;
    n->epoch = t->epoch;
    each_part (t, p) {
        count_part(p, n);
        count_full(n, tasktab_part_tasks(p), p->e.overs.n, p->e.store.max);
        over += p->e.overs.n;
        n->oldest_ms = u64_max(n->oldest_ms, tasktab_oldest_ms(t, p));
    }
    count_full(n, n->tasks, over, n->max_tasks);
}

/* ---- the end of a turn: clocks, those who wait, reports, records ------------------- */

/* Partitions of which something may be said now. */
static bool end_of(struct tasktab *t, struct part *p, struct outbox *out)
{
    msec_t idle;

    tasktab_notices_send(t, p, out);
    if (!p->turned && p->e.log.len == 0)
        return true;
    if (p->life == PART_OWNED)
        tasktab_waits_take(t, p, out);
    if (!tasktab_keep_log(t, p, out))
        return false;
    p->turned = false;
    idle = p->life != PART_OWNED ? MSEC_NEVER : p->more ? 0
           : ms_min(engine_idle_ms(&p->e, t->now), schedules_idle_ms(&p->schedules, t->now.wall_ms));
    if (p->life == PART_OWNED)
        idle = ms_min(ms_min(idle, engine_groups_idle_ms(&p->e, t->now.ms)),
                      ms_min(notices_idle_ms(&p->notices, t->now.ms),
                             notices_idle_ms(&p->relays, t->now.ms)));
    p->due = idle == MSEC_NEVER ? MSEC_NEVER : t->now.ms + idle;
    return true;
}

bool tasktab_turn(struct tasktab *t, struct task_now now, struct outbox *out)
{
    bool ok = true;

    t->now = now;
    each_part (t, p) {
        if (p->due <= now.ms || tasktab_clock_is_old(t, p))
            tasktab_clock(t, p);
        if (p->turned && p->life == PART_OWNED)
            tasktab_schedules_advance(t, p);
    }
    tasktab_calls_take(t, out);
    tasktab_keep_levels(t);
    each_part (t, p)
        ok &= end_of(t, p, out);
    tasktab_waits_end(t, out);
    if (ok)
        tasktab_outs(t, out);
    tasktab_report(t, out);
    each_part (t, p) {
        if (t->o.shared != NULL && p->asked)
            t->o.shared->ask(t->o.shared_ctx, p->no);
        p->asked = false;
    }
    return ok && !t->lost_record;
}

void tasktab_written(struct tasktab *t)
{
    for (size_t i = 0; i < t->freed.len; i += sizeof(uint64_t)) {
        uint64_t ref;

        memcpy(&ref, t->freed.data + i, sizeof(ref));
        if (ref != TAB_BODY_LOST)
            t->o.bodies.drop(t->o.bodies.ctx, ref);
    }
    buf_reset(&t->freed);
}

msec_t tasktab_idle_ms(const struct tasktab *t, struct task_now now)
{
    msec_t first = ms_min(wheel_next(&t->ends), t->calls_due);

    if (!t->hold)
        each_part (t, p)
            first = p->hold ? first : ms_min(first, p->due);
    return first == MSEC_NEVER ? MSEC_NEVER : ms_max(first - now.ms, 0);
}
