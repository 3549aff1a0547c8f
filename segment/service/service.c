/* service.c: life of a segment node: start, ticks, the end of a turn, stop. */
#include "segment/service/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "segment/service/peers.h"
#include "segment/service/metrics.h"
#include "segment/service/state.h"
#include "segment/service/step.h"
#include "segment/service/trace.h"

#define LOG_MODULE "segment"
#define READY_ANYWAY_MS 5000 /* without a manager we still serve polls */
#define LATE_MS         1000
#define LAST_WORDS_MS   200  /* at stop: what is on its way to us is still answered */

static void on_tick(void *arg)
{
    struct seg_service *s = arg;
    msec_t now = ev_now(s->ev);

    if (now - s->ticked_ms > LATE_MS)
        s->n.late_ticks++;
    s->ticked_ms = now;
    each_peer (s, p) {
        if (p->role == RPC_ROUTER)
            segtab_pending(s->tab, p->no, rpc_chan_pending(p->ch));
    }
    seg_step(s, (struct segtab_in){ .kind = SEGTAB_TICK,
                                    .silent_ms = seg_peers_silent_ms(s, now) });
    seg_journal_tick(s->journal, now);
    audit_tick(s->audit, ev_wall_ms(s->ev));
    seg_trace_tick(s);
    if (now - s->started_ms >= READY_ANYWAY_MS)
        seg_become_ready(s);
    ev_timer_at(s->tick, now + SEG_TICK_MS);
}

/* Links are dialled and dropped here, where no channel is in a callback of ours. Dropping
 * one is a step, too: one more look settles that. */
static void on_turn_end(void *arg)
{
    struct seg_service *s = arg;

    if (segtab_urgent(s->tab))
        seg_step(s, (struct segtab_in){ .kind = SEGTAB_REPORT });
    else if (segtab_asks(s->tab))
        seg_step(s, (struct segtab_in){ .kind = SEGTAB_ASK });
    for (int i = 0; i < 2 && s->look_at_wanted; i++) {
        s->look_at_wanted = false;
        seg_peers_look(s);
    }
    seg_peers_follow(s);
}

static struct segtab *new_tab(struct seg_service *s)
{
    struct segtab_opts to = {
        .max_tickets = s->max_tickets,
        .max_segments = s->max_segments,
        .addr = s->advertise,
        .admin = admin_addr(s->admin),
        .make_pass = seg_passes_make,
        .ctx = s->passes,
        .log = s->journal != NULL ? seg_journal_log : NULL,
        .log_ctx = s->journal,
        .audit = s->audit != NULL ? audit_put : NULL,
        .audit_ctx = s->audit,
    };

    memcpy(to.pass_pub, s->pass_pub, sizeof(to.pass_pub));
    to.pass_others = s->pass_others;
    return segtab_new(&to);
}

/* The turn was not written down, so it has not happened: nobody hears of it, and the table
 * is what a restart would find. Without memory, or with a journal that cannot be read, a
 * restart is all that is left: nothing that is known here may be told. */
static void undo_turn(struct seg_service *s)
{
    struct err e = { 0 };

    seg_peers_take_back(s);
    segtab_free(s->tab);
    s->tab = new_tab(s);
    if (s->tab != NULL && seg_journal_again(s->journal, s->tab, seg_now(s), &e) == 0)
        return;
    log_error("event=cannot_recover why=%s do=\"it ends, and the supervisor starts it again\"",
              s->tab != NULL ? log_q(e.text, strlen(e.text)) : "\"no memory\"");
    _exit(EXIT_FAILURE);
}

/* After everything that could still be said in this turn, before it is sent. */
static void on_flush(void *arg)
{
    struct seg_service *s = arg;

    if (!seg_journal_flush(s->journal))
        undo_turn(s);
}

static bool is_healthy(void *ctx, struct buf *why)
{
    struct seg_service *s = ctx;

    if (s->stopping)
        buf_str(why, "stopping");
    return !s->stopping;
}

static void on_gone_timer(void *arg)
{
    struct seg_service *s = arg;

    if (s->on_gone != NULL)
        s->on_gone(s->ctx);
}

static int open_links(struct seg_service *s, const struct seg_service_opts *o, struct err *e)
{
    const struct seg_cfg *c = o->cfg;
    struct rpc_opts ro = {
        .role = RPC_SEGMENT,
        .node = c->node,
        .incarnation = o->incarnation,
        .link_key = o->secret->link,
        .other_link_key = cluster_keys_other_link(o->secret),
        .heartbeat_ms = (uint32_t)c->heartbeat_ms,
        .seed = o->incarnation,
    };
    struct admin_opts ao = { .addr = c->admin, .metrics = seg_metrics,
                             .healthy = is_healthy, .ctx = s };
    const char *addr;
    int rc = rpc_new(&s->rpc, s->ev, &ro, e);

    if (rc == 0)
        rc = seg_peers_listen(s, c->listen, e);
    if (rc == 0)
        rc = admin_new(&s->admin, s->ev, &ao, e);
    if (rc < 0)
        return rc;
    addr = c->advertise[0] != 0 ? c->advertise : rpc_listen_addr(s->rpc);
    snprintf(s->advertise, sizeof(s->advertise), "%s", addr);
    return 0;
}

static int make_tab(struct seg_service *s, const struct seg_service_opts *o, struct err *e)
{
    s->max_tickets = (uint64_t)o->cfg->max_tickets;
    s->max_segments = (uint32_t)o->cfg->max_segments;
    memcpy(s->pass_pub, o->pass->public, sizeof(s->pass_pub));
    s->pass_others = o->pass->others;
    s->passes = seg_passes_new(o->pass);
    if (s->passes != NULL)
        s->tab = new_tab(s);
    s->tick = ev_timer_new(s->ev, on_tick, s);
    s->gone = ev_timer_new(s->ev, on_gone_timer, s);
    if (s->tab == NULL || s->tick == NULL || s->gone == NULL)
        return err_set(e, SQ_ENOMEM, "segment node");
    return s->journal != NULL ? seg_journal_recover(s->journal, s->tab, seg_now(s), e) : 0;
}

static int make_audit(struct seg_service *s, const struct seg_cfg *c, struct err *e)
{
    struct audit_opts o = { .dir = c->audit_dir,
                            .node = c->node,
                            .subject = (enum audit_subject)c->audit_subject,
                            .keep_days = (uint32_t)c->audit_keep_days,
                            .buffer_bytes = (uint64_t)c->audit_buffer,
                            .wall_ms = ev_wall_ms(s->ev) };

    return c->audit_dir != NULL && c->audit_dir[0] != 0 ? audit_new(&s->audit, &o, e) : 0;
}

static int start(struct seg_service *s, const struct seg_service_opts *o, struct err *e)
{
    int rc = open_links(s, o, e);

    if (rc == 0)
        rc = seg_journal_new(&s->journal, o->cfg, NULL, e);
    if (rc == 0)
        rc = make_audit(s, o->cfg, e);
    if (rc == 0)
        rc = make_tab(s, o, e);
    if (rc == 0)
        rc = ev_hook(s->ev, 0, on_turn_end, s);
    if (rc == 0)
        rc = ev_hook(s->ev, RPC_HOOK_LAST - 1, on_flush, s);
    if (rc < 0)
        return err_wrap(e, "segment node %s", o->cfg->node);
    s->started_ms = s->ticked_ms = ev_now(s->ev);
    ev_timer_at(s->tick, s->started_ms + SEG_TICK_MS);
    return seg_peers_dial(s, &o->cfg->managers, e);
}

int seg_service_new(struct seg_service **out, struct ev *ev, const struct seg_service_opts *o,
                    struct err *e)
{
    struct seg_service *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return err_set(e, SQ_ENOMEM, "segment node");
    s->ev = ev;
    s->on_ready = o->on_ready;
    s->on_gone = o->on_gone;
    s->ctx = o->ctx;
    list_init(&s->peers);
    list_init(&s->dials);
    arena_init(&s->mem);
    outbox_init(&s->out);
    buf_init(&s->body);
    s->wanted = calloc(2 * SEG_WANTED_MAX, sizeof(*s->wanted));
    rc = s->wanted != NULL ? start(s, o, e)
                           : err_set(e, SQ_ENOMEM, "segment node");
    if (rc < 0) {
        seg_service_free(s);
        return rc;
    }
    log_info("event=ready node=%s listen=%s advertise=%s admin=%s", o->cfg->node,
             rpc_listen_addr(s->rpc), s->advertise, admin_addr(s->admin));
    *out = s;
    return 0;
}

/* Also of a half-built one. */
void seg_service_free(struct seg_service *s)
{
    if (s == NULL)
        return;
    ev_unhook(s->ev, on_turn_end, s);
    ev_unhook(s->ev, on_flush, s);
    seg_peers_free(s);
    rpc_free(s->rpc);
    admin_free(s->admin);
    ev_timer_free(s->tick);
    ev_timer_free(s->gone);
    segtab_free(s->tab);
    seg_journal_free(s->journal);
    audit_free(s->audit, ev_wall_ms(s->ev));
    seg_passes_free(s->passes);
    free(s->wanted);
    outbox_fini(&s->out);
    buf_fini(&s->body);
    arena_fini(&s->mem);
    free(s);
}

void seg_service_stop(struct seg_service *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    log_info("event=stopping");
    rpc_unlisten(s->rpc);
    ev_timer_at(s->gone, ev_now(s->ev) + LAST_WORDS_MS);
}

const char *seg_service_addr(const struct seg_service *s)
{
    return rpc_listen_addr(s->rpc);
}

const char *seg_service_admin(const struct seg_service *s)
{
    return admin_addr(s->admin);
}
