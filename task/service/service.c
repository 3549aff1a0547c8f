/* service.c: life of a task node: start, the end of a turn, ticks, stop. */
#include "task/service/service.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/versions.h"
#include "task/service/links.h"
#include "task/service/metrics.h"
#include "task/service/state.h"
#include "task/table/keep.h"

#define LOG_MODULE "task"
#define TICK_MS         100
#define LATE_MS         1000
#define READY_ANYWAY_MS 5000 /* without a manager we still serve what we have */
#define LAST_WORDS_MS   200  /* at stop: what is on its way to us is still answered */
/* What a task can still cost, as a rule among many in one group: two starts, their ends. */
#define TASK_BYTES 128u

static struct tasktab *new_tab(struct task_service *s);

static struct task_journal journal_of(const struct task_service *s)
{
    return (struct task_journal){ s->keeper, s->bodies, s->tab };
}

static void become_ready(struct task_service *s)
{
    if (s->ready)
        return;
    s->ready = true;
    if (s->on_ready != NULL)
        s->on_ready(s->ctx);
}

/* ---- a turn ------------------------------------------------------------------------ */

/* The turn was not written down, so it has not happened: nobody hears of it, and the table
 * is what a restart would find. Without memory, or with a journal that cannot be read, a
 * restart is all that is left: nothing that is known here may be told. */
static void undo_turn(struct task_service *s)
{
    struct err e = { 0 };
    struct task_journal j;

    task_links_take_back(s);
    tasktab_free(s->tab);
    s->tab = s->keeper != NULL ? new_tab(s) : NULL;
    bodies_again(s->bodies);
    j = journal_of(s);
    if (s->tab != NULL && task_journal_read(&j, task_service_now(s), true, &e) == 0)
        return;
    log_error("event=cannot_recover why=%s do=\"it ends, and the supervisor starts it again\"",
              s->tab != NULL ? log_q(e.text, strlen(e.text)) : "\"no memory\"");
    _exit(EXIT_FAILURE);
}

static bool write_turn(struct task_service *s, bool whole)
{
    if (!whole)
        return keeper_fails(s->keeper, "no memory for the records");
    if (bodies_flush(s->bodies) < 0)
        return keeper_fails(s->keeper, "bodies cannot be written");
    return keeper_flush(s->keeper);
}

/* After everything that could still be said in this turn, before it is sent. */
static void on_flush(void *arg)
{
    struct task_service *s = arg;
    struct task_now now = task_service_now(s);
    bool whole = tasktab_turn(s->tab, now, &s->out);
    struct task_journal j;
    msec_t idle;

    task_links_send(s);
    if (tasktab_registered(s->tab))
        become_ready(s);
    if (write_turn(s, whole)) {
        tasktab_written(s->tab);
        j = journal_of(s);
        task_journal_snapshot(&j);
    } else {
        undo_turn(s);
    }
    tasktab_hold(s->tab, keeper_holds(s->keeper));
    idle = tasktab_idle_ms(s->tab, now);
    s->clock_ms = idle == MSEC_NEVER ? 0 : ev_now(s->ev) + ms_min(idle, TICK_MS);
    if (s->clock_ms != 0)
        ev_timer_at(s->clock, s->clock_ms);
}

static void on_turn_end(void *arg)
{
    task_links_follow(arg);
}

/* The turn that it makes is what is wanted. */
static void on_clock(void *arg)
{
    struct task_service *s = arg;

    s->n.late_turns += s->clock_ms != 0 && ev_now(s->ev) - s->clock_ms > LATE_MS;
}

static void on_tick(void *arg)
{
    struct task_service *s = arg;
    msec_t now = ev_now(s->ev);

    /* Bodies first: what the journal has on the disk implies them. */
    if (bodies_step(s->bodies, now))
        tasktab_copy_bodies(s->tab, task_service_now(s));
    if (s->keeper != NULL && keeper_tick(s->keeper, now))
        keeper_promise(s->keeper, tasktab_tasks(s->tab));
    if (now - s->began_ms >= READY_ANYWAY_MS)
        become_ready(s);
    ev_timer_at(s->tick, now + TICK_MS);
}

/* ---- start ------------------------------------------------------------------------- */

static int put_body(void *ctx, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    return bodies_put(ctx, p, n, ref);
}

static int get_body(void *ctx, uint64_t ref, struct buf *out)
{
    return bodies_get(ctx, ref, out);
}

static void drop_body(void *ctx, uint64_t ref)
{
    bodies_drop(ctx, ref);
}

static bool is_old_body(void *ctx, uint64_t ref)
{
    return bodies_is_old(ctx, ref);
}

static int copy_body(void *ctx, uint64_t ref, uint64_t *to)
{
    return bodies_copy(ctx, ref, to);
}

static struct tasktab *new_tab(struct task_service *s)
{
    struct tasktab_opts o = {
        .addr = s->advertise,
        .admin = admin_addr(s->admin),
        .max_tasks = s->max_tasks,
        .max_keys = s->max_keys,
        .bodies = { put_body, get_body, drop_body, is_old_body, copy_body, s->bodies },
        .record = s->keeper != NULL ? task_journal_record : NULL,
        .record_ctx = s->keeper,
    };

    memcpy(o.seed, s->seed, sizeof(o.seed));
    return tasktab_new(&o);
}

static bool is_healthy(void *ctx, struct buf *why)
{
    struct task_service *s = ctx;

    if (s->stopping)
        buf_str(why, "stopping");
    return !s->stopping;
}

static void on_gone_timer(void *arg)
{
    struct task_service *s = arg;

    if (s->on_gone != NULL)
        s->on_gone(s->ctx);
}

static int open_links(struct task_service *s, const struct task_service_opts *o, struct err *e)
{
    const struct task_cfg *c = o->cfg;
    struct rpc_opts ro = {
        .role = RPC_TASK,
        .node = c->node,
        .incarnation = o->incarnation,
        .link_key = o->secret->link,
        .other_link_key = cluster_keys_other_link(o->secret),
        .heartbeat_ms = (uint32_t)c->heartbeat_ms,
        .seed = o->incarnation,
    };
    struct admin_opts ao = { .addr = c->admin, .metrics = task_metrics, .healthy = is_healthy,
                             .ctx = s };
    const char *addr;
    int rc = rpc_new(&s->rpc, s->ev, &ro, e);

    if (rc == 0)
        rc = task_links_listen(s, c->listen, e);
    if (rc == 0)
        rc = admin_new(&s->admin, s->ev, &ao, e);
    if (rc < 0)
        return rc;
    addr = c->advertise[0] != 0 ? c->advertise : rpc_listen_addr(s->rpc);
    snprintf(s->advertise, sizeof(s->advertise), "%s", addr);
    return 0;
}

static int open_files(struct task_service *s, const struct task_cfg *c, struct err *e)
{
    char dir[512];
    struct keeper_opts ko = { .parent = c->journal_dir,
                              .node = c->node,
                              .mode = (enum journal_mode)c->journal,
                              .format = TASK_FORMAT,
                              .snap_after = (uint64_t)c->journal_snapshot,
                              .thing_bytes = TASK_BYTES };
    struct bodies_opts bo = { .dir = dir, .node = c->node, .sync = c->journal == JOURNAL_FSYNC };
    int rc = keeper_new(&s->keeper, &ko, e);

    if (rc == 0)
        rc = file_make_dir(c->bodies_dir, 0750, e);
    if (rc == 0 && snprintf(dir, sizeof(dir), "%s/%s", c->bodies_dir, c->node) >=
                       (int)sizeof(dir))
        rc = err_set(e, SQ_ETOOBIG, "bodies_dir: too long");
    return rc < 0 ? rc : bodies_open(&s->bodies, &bo, e);
}

static int make_tab(struct task_service *s, const struct task_cfg *c, struct err *e)
{
    struct task_journal j;
    int rc;

    s->max_tasks = (uint32_t)c->max_tasks;
    s->max_keys = (uint32_t)c->max_keys;
    randombytes_buf(s->seed, sizeof(s->seed));
    s->tab = new_tab(s);
    s->tick = ev_timer_new(s->ev, on_tick, s);
    s->clock = ev_timer_new(s->ev, on_clock, s);
    s->gone = ev_timer_new(s->ev, on_gone_timer, s);
    if (s->tab == NULL || s->tick == NULL || s->clock == NULL || s->gone == NULL)
        return err_set(e, SQ_ENOMEM, "task node");
    j = journal_of(s);
    rc = task_journal_read(&j, task_service_now(s), false, e);
    s->recovered = tasktab_tasks(s->tab);
    return rc;
}

static int start(struct task_service *s, const struct task_service_opts *o, struct err *e)
{
    int rc = open_links(s, o, e);

    if (rc == 0)
        rc = open_files(s, o->cfg, e);
    if (rc == 0)
        rc = make_tab(s, o->cfg, e);
    if (rc == 0)
        rc = ev_hook(s->ev, 0, on_turn_end, s);
    if (rc == 0)
        rc = ev_hook(s->ev, RPC_HOOK_LAST - 1, on_flush, s);
    if (rc < 0)
        return err_wrap(e, "task node %s", o->cfg->node);
    ev_timer_at(s->tick, s->began_ms + TICK_MS);
    return task_links_dial(s, &o->cfg->managers, e);
}

int task_service_new(struct task_service **out, struct ev *ev,
                     const struct task_service_opts *o, struct err *e)
{
    struct task_service *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return err_set(e, SQ_ENOMEM, "task node");
    s->ev = ev;
    s->on_ready = o->on_ready;
    s->on_gone = o->on_gone;
    s->ctx = o->ctx;
    s->wall_ms = ev_wall_ms(ev);
    s->began_ms = ev_now(ev);
    list_init(&s->peers);
    arena_init(&s->mem);
    outbox_init(&s->out);
    rc = start(s, o, e);
    if (rc < 0) {
        task_service_free(s);
        return rc;
    }
    log_info("event=ready node=%s listen=%s advertise=%s admin=%s", o->cfg->node,
             rpc_listen_addr(s->rpc), s->advertise, admin_addr(s->admin));
    *out = s;
    return 0;
}

/* Also of a half-built one. */
void task_service_free(struct task_service *s)
{
    if (s == NULL)
        return;
    ev_unhook(s->ev, on_turn_end, s);
    ev_unhook(s->ev, on_flush, s);
    task_links_free(s);
    rpc_free(s->rpc);
    admin_free(s->admin);
    ev_timer_free(s->tick);
    ev_timer_free(s->clock);
    ev_timer_free(s->gone);
    tasktab_free(s->tab);
    keeper_free(s->keeper);
    bodies_close(s->bodies);
    outbox_fini(&s->out);
    arena_fini(&s->mem);
    free(s);
}

void task_service_stop(struct task_service *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    log_info("event=stopping");
    rpc_unlisten(s->rpc);
    tasktab_stop(s->tab, &s->out);
    task_links_send(s);
    ev_timer_at(s->gone, ev_now(s->ev) + LAST_WORDS_MS);
}

const char *task_service_addr(const struct task_service *s)
{
    return rpc_listen_addr(s->rpc);
}

const char *task_service_admin(const struct task_service *s)
{
    return admin_addr(s->admin);
}
