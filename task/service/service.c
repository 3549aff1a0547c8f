/* service.c: life of a task node: start, the end of a turn, ticks, stop. */
#include "task/service/service.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/text.h"
#include "common/base/versions.h"
#include "common/node/node_peers.h"
#include "common/recur/zones.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/task/url.h"
#include "task/bodies/answers.h"
#include "task/bodies/body_files.h"
#include "task/bodies/large.h"
#include "task/node/keep.h"
#include "task/node/parts.h"
#include "task/service/long_answers.h"
#include "task/service/metrics.h"

#define CLOCK_EVERY_MS 5 /* at most: a delayed task may be this late */
/* Bytes that a task can still cost, as a rule among many in one group: two starts, their ends. */
#define TASK_BYTES 128u
#define TASK_WANTED_MAX 16 /* links for copies at a time */
#define LAST_CALLS_MS   3000 /* at the end, calls have so long */

static struct tasktab *new_tab(struct task_service *s);

static struct task_journal journal_of(const struct task_service *s)
{
    return (struct task_journal){ s->keeper, s->bodies, s->tab };
}

/* ---- a turn ------------------------------------------------------------------------ */

/* The turn was not written down, so it has not happened: nobody hears of it, and the table
 * is what a restart would find. */
static void undo_turn(struct task_service *s)
{
    struct err e = { 0 };
    struct task_journal j;

    node_take_back(&s->node);
    caller_forget_all_taken(&s->caller);
    tasktab_readers_forget(&s->caller.calls);
    archive_forget(s->archive);
    s->dials.look = true;
    tasktab_free(s->tab);
    s->tab = s->keeper != NULL ? new_tab(s) : NULL;
    bodies_again(s->bodies);
    j = journal_of(s);
    if (s->tab == NULL || task_journal_read(&j, task_service_now(s), true, &e) < 0)
        node_cannot_recover(&e);
}

static bool write_turn(struct task_service *s, bool whole)
{
    if (!whole)
        return keeper_fails(s->keeper, "no memory for the records");
    if (bodies_flush(s->bodies) < 0)
        return keeper_fails(s->keeper, "bodies cannot be written");
    return keeper_flush(s->keeper);
}

/* A turn, with the node's own files. */
static void flush(struct task_service *s, bool whole)
{
    struct task_journal j;

    if (write_turn(s, whole)) {
        node_send(&s->node); /* calls go at once */
        tasktab_written(s->tab);
        archive_written(s->archive);
        j = journal_of(s);
        task_journal_snapshot(&j);
    } else {
        undo_turn(s);
    }
    tasktab_hold(s->tab, keeper_holds(s->keeper));
}

/* Moments that follow each other closely share a turn: each wakes this process, a router and a worker.
 * What comes alone is not late; what is left to be done at once (idle 0) does not wait. */
static void set_clock(struct task_service *s, msec_t idle)
{
    msec_t now = ev_now(s->node.ev), soonest = s->clock_was_ms + CLOCK_EVERY_MS;

    s->clock_ms = idle == MSEC_NEVER ? 0 : now + ms_min(idle, NODE_TICK_MS);
    if (s->clock_ms == 0)
        return;
    if (idle > 0)
        s->clock_ms = ms_max(s->clock_ms, soonest);
    ev_timer_at(s->clock, s->clock_ms);
}

/* After everything that could still be said in this turn, before it is sent. */
static void on_flush(void *arg)
{
    struct task_service *s = arg;
    struct task_now now = task_service_now(s);
    msec_t idle;
    bool whole;

    caller_pass_on(&s->caller);
    whole = tasktab_turn(s->tab, now, &s->node.out);
    caller_cut(&s->caller); /* if the turn is not written, they end by their leases */
    if (tasktab_registered(s->tab))
        node_become_ready(&s->node);
    if (s->shared != NULL)
        task_shared_turn(s->shared, whole);
    else
        flush(s, whole);
    each_node_peer (&s->node, p)
        if (tasktab_wants_room(s->tab, p->no))
            rpc_chan_turn_below(p->ch, LINK_PORTION);
    idle = tasktab_idle_ms(s->tab, now);
    set_clock(s, idle);
}

static void on_turn_end(void *arg)
{
    struct task_service *s = arg;
    struct node_want want[TASK_WANTED_MAX];

    node_dials_look(&s->dials, want, tasktab_wants(s->tab, want, TASK_WANTED_MAX));
    node_follow_leader(&s->node);
}

/* The turn that it makes is what is wanted. */
static void on_clock(void *arg)
{
    struct task_service *s = arg;

    s->n.late_turns += s->clock_ms != 0 && ev_now(s->node.ev) - s->clock_ms > NODE_LATE_MS;
    s->clock_was_ms = ev_now(s->node.ev);
}

/* Calls on their way have some seconds to end. */
static void stop_when_called(struct task_service *s, msec_t now)
{
    if (s->stop_ms != 0 && (s->caller.calls.going.n == 0 || now >= s->stop_ms))
        (void)!node_stop(&s->node);
}

static void on_tick(void *arg)
{
    struct task_service *s = arg;
    msec_t now = ev_now(s->node.ev);

    /* Bodies first: what the journal has on the disk implies them. */
    if (s->bodies != NULL && bodies_step(s->bodies, now))
        tasktab_copy_bodies(s->tab, task_service_now(s));
    if (s->keeper != NULL && keeper_tick(s->keeper, now))
        keeper_promise(s->keeper, tasktab_tasks(s->tab));
    archive_tick(s->archive, ev_wall_ms(s->node.ev));
    caller_tick(&s->caller);
    estimator_tick(&s->estimator);
    tasktab_places(s->tab, task_service_now(s), &s->node.out);
    whole_tick(s);
    node_tick(&s->node, now);
    stop_when_called(s, now);
    ev_timer_about(s->tick, NODE_TICK_MS);
}

/* ---- the table ---------------------------------------------------------------------- */

static uint32_t body_bytes(uint64_t ref)
{
    uint32_t n = body_place_of(ref).len;

    return n > BODY_HEAD ? n - BODY_HEAD : 0;
}

/* CLOCK_MONOTONIC is what the axis runs on (task_service_now), so they stay as far apart as they are. */
static struct tab_boot boot_of(const struct task_service *s)
{
    return (struct tab_boot){ s->boot, s->node.began_ms - s->wall_ms };
}

static struct tasktab *new_tab(struct task_service *s)
{
    struct tasktab_opts o = {
        .addr = s->node.advertise,
        .admin = admin_addr(s->node.admin),
        .region = s->node.region,
        .zone = s->node.zone,
        .max_tasks = s->max_tasks,
        .max_keys = s->max_keys,
        .boot = boot_of(s),
        .bodies = { bodies_put, bodies_get, bodies_drop, body_bytes, bodies_is_old, bodies_copy, s->bodies },
        .answers = whole_table(s),
        .large = { large_add, large_has, large_keep, large_drop, large_read_at, s->large },
        .record = s->keeper != NULL ? task_journal_record : NULL,
        .record_ctx = s->keeper,
        .shared = s->shared != NULL ? &task_shared_table : NULL,
        .shared_ctx = s->shared,
        .ended = s->archive != NULL ? archive_end : NULL,
        .ended_ctx = s->archive,
        .zones = &system_zones,
        .busiest = s->busiest,
        .calls = &s->caller.calls,
    };

    memcpy(o.seed, s->seed, sizeof(o.seed));
    return tasktab_new(&o);
}

/* ---- peers ------------------------------------------------------------------------- */

/* With the node's own files what is said leaves at the end of the turn in any case; else it may have
 * to wait for longer. */
static void send_now(struct task_service *s)
{
    if (s->shared == NULL)
        node_send(&s->node);
}

static void on_up(void *service, struct node_peer *p, const char *name)
{
    struct task_service *s = service;

    tasktab_up(s->tab, p->no, (uint8_t)p->role, name, &s->node.out);
    if (s->node.out.failed)
        rpc_chan_close(p->ch, "no memory for a peer");
    send_now(s);
}

static void on_msg(void *service, struct node_peer *p, const struct msg *m, uint64_t rid)
{
    struct task_service *s = service;

    if (m->type == MSG_TASK_PUT)
        tasktab_full(s->tab, !memory_is_spare(MEMORY_SPARE) || !keeper_reserve(s->keeper, m->task_put.n));
    tasktab_msg(s->tab, task_service_read_now(s), p->no, rid, m, &s->node.out);
    send_now(s);
}

static void on_down(void *service, const struct node_peer *p)
{
    tasktab_down(((struct task_service *)service)->tab, p->no);
}

static void on_warn(void *ctx, struct buf *b)
{
    const struct task_service *s = ctx;

    keeper_warn(s->keeper, b);
    bodies_warn(s->bodies, b);
}

static const struct node_kind kind = {
    .role = RPC_TASK,
    .peers = 1u << RPC_ROUTER | 1u << RPC_TASK,
    .metrics = task_metrics,
    .warn = on_warn,
    .up = on_up,
    .msg = on_msg,
    .down = on_down,
    .self = caller_self,
};

/* ---- start ------------------------------------------------------------------------- */

static int open_files(struct task_service *s, const struct task_cfg *c, struct err *e)
{
    char dir[512];
    struct keeper_opts ko = { .parent = c->node.journal_dir,
                              .node = c->node.node,
                              .mode = (enum journal_mode)c->node.journal,
                              .format = TASK_FORMAT,
                              .snap_after = (uint64_t)c->node.journal_snapshot,
                              .thing_bytes = TASK_BYTES };
    struct bodies_opts bo = { .dir = dir, .node = c->node.node,
                              .keep = c->node.journal == JOURNAL_FSYNC ? task_journal_keep : NULL };
    int rc = keeper_new(&s->keeper, &ko, e);

    bo.keep_ctx = s->keeper;
    if (rc == 0)
        rc = file_make_dir(c->bodies_dir, 0750, e);
    if (rc == 0 && snprintf(dir, sizeof(dir), "%s/%s", c->bodies_dir, c->node.node) >=
                       (int)sizeof(dir))
        rc = err_set(e, SQ_ETOOBIG, "bodies_dir: too long");
    return rc < 0 ? rc : bodies_open(&s->bodies, &bo, e);
}

static int make_archive(struct task_service *s, const struct task_cfg *c, struct err *e)
{
    struct archive_opts o = { .dir = c->archive_dir, .node = c->node.node,
                              .keep_days = (uint32_t)c->archive_keep_days,
                              .buffer_bytes = (uint64_t)c->archive_buffer };

    return c->archive_dir[0] != 0 ? archive_new(&s->archive, &o, e) : 0;
}

/* Names the queues that have metrics of their own. */
static void name_queues(struct task_service *s, const struct cfg_list *l)
{
    char *const *v = l->v;

    s->n_queues = (unsigned)l->n;
    for (unsigned i = 0; i < s->n_queues; i++)
        copy_text(s->queues[i], sizeof(s->queues[i]), v[i]);
}

static int make_tab(struct task_service *s, const struct task_cfg *c, struct err *e)
{
    struct task_journal j;
    int rc;

    s->max_tasks = (uint32_t)c->max_tasks;
    s->max_keys = (uint32_t)c->max_keys;
    s->busiest = (unsigned)c->metrics_busiest;
    name_queues(s, &c->metrics_queues);
    randombytes_buf(s->seed, sizeof(s->seed));
    s->tab = new_tab(s);
    s->tick = ev_timer_new(s->node.ev, on_tick, s);
    s->clock = ev_timer_new(s->node.ev, on_clock, s);
    if (s->tab == NULL || s->tick == NULL || s->clock == NULL)
        return err_set(e, SQ_ENOMEM, "task node");
    if (s->shared != NULL)
        return 0;
    j = journal_of(s);
    rc = task_journal_read(&j, task_service_now(s), false, e);
    s->recovered = tasktab_tasks(s->tab);
    return rc;
}

static int start(struct task_service *s, struct ev *ev, const struct task_service_opts *o,
                 struct err *e)
{
    const struct node_cfg *c = &o->cfg->node;
    int rc = node_open(&s->node, ev, c, &o->node, &kind, s, e);

    s->wall_ms = ev_wall_ms(ev);
    s->boot = keeper_this_boot();
    if (rc == 0)
        rc = o->cfg->store == STORE_REDIS ? task_shared_new(&s->shared, s, o->cfg, e)
                                          : open_files(s, o->cfg, e);
    if (rc == 0)
        rc = whole_open(s, o->cfg, e);
    if (rc == 0)
        rc = large_begin(s, o->cfg, e);
    if (rc == 0)
        rc = caller_init(&s->caller, s, o->cfg, e);
    if (rc == 0)
        rc = make_archive(s, o->cfg, e);
    if (rc == 0)
        rc = make_tab(s, o->cfg, e);
    if (rc == 0)
        rc = ev_hook(ev, 0, on_turn_end, s);
    if (rc == 0)
        rc = ev_hook(ev, RPC_HOOK_LAST - 1, on_flush, s);
    if (rc < 0)
        return err_wrap(e, "task node %s", c->node);
    ev_timer_about(s->tick, NODE_TICK_MS);
    return node_begin(&s->node, c, e);
}

int task_service_new(struct task_service **out, struct ev *ev,
                     const struct task_service_opts *o, struct err *e)
{
    struct task_service *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return err_set(e, SQ_ENOMEM, "task node");
    node_dials_init(&s->dials, &s->node, NULL, NULL);
    estimator_init(&s->estimator, s);
    rc = start(s, ev, o, e);
    if (rc < 0)
        task_service_free(s);
    else
        *out = s;
    return rc;
}

/* Also of a half-built one. */
void task_service_free(struct task_service *s)
{
    if (s == NULL)
        return;
    ev_unhook(s->node.ev, on_turn_end, s);
    ev_unhook(s->node.ev, on_flush, s);
    node_dials_free(&s->dials);
    node_close(&s->node);
    ev_timer_free(s->tick);
    ev_timer_free(s->clock);
    estimator_fini(&s->estimator);
    caller_fini(&s->caller);
    task_shared_free(s->shared);
    tasktab_free(s->tab);
    keeper_free(s->keeper);
    bodies_close(s->bodies);
    archive_free(s->archive);
    answers_close(s->answers);
    large_close(s->large);
    free(s);
}

void task_service_reload(struct task_service *s, const struct task_cfg *c)
{
    node_reload(&s->node, &c->node);
    name_queues(s, &c->metrics_queues);
    if (s->shared != NULL)
        task_shared_reload(s->shared, c);
}

void task_service_stop(struct task_service *s)
{
    msec_t now = ev_now(s->node.ev);

    if (s->stop_ms != 0)
        return;
    s->stop_ms = now + LAST_CALLS_MS;
    tasktab_stop(s->tab, &s->node.out);
    send_now(s);
    stop_when_called(s, now);
}
