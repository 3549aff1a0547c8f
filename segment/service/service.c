/* service.c: life of a segment node: start, ticks, the end of a turn, stop. */
#include "segment/service/service.h"

#include <stdlib.h>
#include <string.h>

#include "common/node/node_peers.h"
#include "segment/service/frames.h"
#include "segment/service/metrics.h"

#define K(name) .key = #name, .offset = offsetof(struct seg_cfg, name)

static const char *const audit_subjects[] = { "none", "hash", "plain", NULL };

const struct cfg_key seg_cfg_keys[] = {
    NODE_KEYS("segment", "7200", "7300", "routers and other segment nodes"),
    { K(pass_key_file), .type = CFG_STR, .def = "pass.key", .min = 1, .max = 4000,
      .help = "file with the key that signs passes, the same on every segment machine" },
    { NODE_KEY(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "create secret_file and pass_key_file if they are missing" },
    { K(max_tickets), .type = CFG_INT, .def = "10000000", .min = 512, .max = 4000000000,
      .help = "highest number of places held at the same time, about 1.2 bytes each" },
    { K(max_segments), .type = CFG_INT, .def = "20000", .min = 1, .max = 1000000,
      .help = "highest number of segments held at the same time" },
    NODE_JOURNAL_KEYS("changes"),
    { K(audit_dir), .type = CFG_STR, .def = "", .max = 400,
      .help = "folder of the audit trail, one file per day in the subfolder of the "
              "node's name; \"\" = no trail" },
    { K(audit_keep_days), .type = CFG_INT, .def = "30", .min = 0, .max = 36500,
      .help = "days after which a file of the trail is removed; 0 = never" },
    { K(audit_subject), .type = CFG_ENUM, .def = "hash", .words = audit_subjects,
      .help = "how the trail names people: none: not at all; hash: by a keyed hash; "
              "plain: as the join named them" },
    { K(audit_buffer), .type = CFG_BYTES, .def = "16m", .min = 256 << 10, .max = 1ll << 34,
      .help = "memory for lines that wait for a slow disk; further lines are dropped and "
              "counted" },
    NODE_LAST_KEYS,
};

/* ---- turns ------------------------------------------------------------------------------- */

/* For how long no router was heard; now_ms: there is none. */
static msec_t silent_ms(const struct seg_service *s, msec_t now_ms)
{
    msec_t least = now_ms;

    each_node_peer (&s->node, p) {
        if (p->role == RPC_ROUTER)
            least = ms_min(least, now_ms - rpc_chan_heard_ms(p->ch));
    }
    return least > 0 ? least : 0;
}

static void on_tick(void *arg)
{
    struct seg_service *s = arg;
    msec_t now = ev_now(s->node.ev);

    if (now - s->ticked_ms > NODE_LATE_MS)
        s->n.late_ticks++;
    s->ticked_ms = now;
    each_node_peer (&s->node, p) {
        if (p->role == RPC_ROUTER)
            segtab_pending(s->tab, p->no, rpc_chan_pending(p->ch));
    }
    seg_step(s, (struct segtab_in){ .kind = SEGTAB_TICK,
                                    .silent_ms = silent_ms(s, now) });
    seg_journal_tick(s->journal, now);
    audit_tick(s->audit, ev_wall_ms(s->node.ev));
    seg_trace_tick(s);
    node_tick(&s->node, now);
    ev_timer_about(s->tick, NODE_TICK_MS);
}

static void answer_due(struct seg_service *s)
{
    uint32_t n = segtab_joins_due(s->tab);

    if (n > 0)
        segtab_full(s->tab, seg_full(s, n));
    if (segtab_asks(s->tab))
        seg_step(s, (struct segtab_in){ .kind = SEGTAB_ASK });
}

/* Links are dialled and dropped here, where no channel is in a callback of ours. Dropping
 * one is a step, too: one more look settles that. */
static void on_turn_end(void *arg)
{
    struct seg_service *s = arg;

    answer_due(s);
    if (segtab_urgent(s->tab))
        seg_step(s, (struct segtab_in){ .kind = SEGTAB_REPORT });
    for (int i = 0; i < 2 && s->look_at_wanted; i++) {
        s->look_at_wanted = false;
        node_dials_look(&s->dials, s->wanted,
                        segtab_wanted(s->tab, s->wanted, SEG_WANTED_MAX));
    }
    node_follow_leader(&s->node);
}

static struct segtab *new_tab(struct seg_service *s)
{
    struct segtab_opts to = {
        .max_tickets = s->max_tickets,
        .max_segments = s->max_segments,
        .addr = s->node.advertise,
        .admin = admin_addr(s->node.admin),
        .region = s->node.region,
        .zone = s->node.zone,
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
 * is what a restart would find. */
static void undo_turn(struct seg_service *s)
{
    struct err e = { 0 };

    node_take_back(&s->node);
    s->dials.look = s->look_at_wanted = true;
    segtab_free(s->tab);
    s->tab = new_tab(s);
    if (s->tab == NULL || seg_journal_again(s->journal, s->tab, seg_now(s), &e) < 0)
        node_cannot_recover(&e);
}

/* After everything that could still be said in this turn, before it is sent. */
static void on_flush(void *arg)
{
    struct seg_service *s = arg;

    if (!seg_journal_flush(s->journal))
        undo_turn(s);
}

/* ---- peers ------------------------------------------------------------------------- */

static void dial_failed(void *service, const char *name)
{
    seg_step(service, (struct segtab_in){ .kind = SEGTAB_DIAL_FAIL, .name = name });
}

static void on_up(void *service, struct node_peer *p, const char *name)
{
    seg_step(service, (struct segtab_in){ .kind = SEGTAB_UP, .peer = p->no,
                                          .role = (uint8_t)p->role, .name = name,
                                          .speaks = rpc_chan_peer(p->ch)->speaks });
}

static void on_down(void *service, const struct node_peer *p)
{
    seg_step(service, (struct segtab_in){ .kind = SEGTAB_DOWN, .peer = p->no,
                                          .role = (uint8_t)p->role });
}

static const struct node_kind kind = {
    .role = RPC_SEGMENT,
    .peers = 1u << RPC_ROUTER | 1u << RPC_SEGMENT,
    .metrics = seg_metrics,
    .up = on_up,
    .msg = seg_msg,
    .down = on_down,
    .send = seg_push,
};

/* ---- start ------------------------------------------------------------------------- */

static int make_tab(struct seg_service *s, const struct seg_service_opts *o, struct err *e)
{
    s->max_tickets = (uint64_t)o->cfg->max_tickets;
    s->max_segments = (uint32_t)o->cfg->max_segments;
    memcpy(s->pass_pub, o->pass->public, sizeof(s->pass_pub));
    s->pass_others = o->pass->others;
    s->passes = seg_passes_new(o->pass);
    if (s->passes != NULL)
        s->tab = new_tab(s);
    s->wanted = calloc(SEG_WANTED_MAX, sizeof(*s->wanted));
    s->tick = ev_timer_new(s->node.ev, on_tick, s);
    if (s->tab == NULL || s->wanted == NULL || s->tick == NULL)
        return err_set(e, SQ_ENOMEM, "segment node");
    return s->journal != NULL ? seg_journal_recover(s->journal, s->tab, seg_now(s), e) : 0;
}

static int make_audit(struct seg_service *s, const struct seg_cfg *c, struct err *e)
{
    struct audit_opts o = { .dir = c->audit_dir,
                            .node = c->node.node,
                            .subject = (enum audit_subject)c->audit_subject,
                            .keep_days = (uint32_t)c->audit_keep_days,
                            .buffer_bytes = (uint64_t)c->audit_buffer,
                            .wall_ms = ev_wall_ms(s->node.ev) };

    return c->audit_dir != NULL && c->audit_dir[0] != 0 ? audit_new(&s->audit, &o, e) : 0;
}

static int start(struct seg_service *s, struct ev *ev, const struct seg_service_opts *o,
                 struct err *e)
{
    const struct node_cfg *c = &o->cfg->node;
    int rc = node_open(&s->node, ev, c, &o->node, &kind, s, e);

    if (rc == 0)
        rc = seg_journal_new(&s->journal, c, NULL, e);
    if (rc == 0)
        rc = make_audit(s, o->cfg, e);
    if (rc == 0)
        rc = make_tab(s, o, e);
    if (rc == 0)
        rc = ev_hook(ev, 0, on_turn_end, s);
    if (rc == 0)
        rc = ev_hook(ev, RPC_HOOK_LAST - 1, on_flush, s);
    if (rc < 0)
        return err_wrap(e, "segment node %s", c->node);
    s->ticked_ms = ev_now(ev);
    ev_timer_about(s->tick, NODE_TICK_MS);
    return node_begin(&s->node, c, e);
}

int seg_service_new(struct seg_service **out, struct ev *ev, const struct seg_service_opts *o,
                    struct err *e)
{
    struct seg_service *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return err_set(e, SQ_ENOMEM, "segment node");
    node_dials_init(&s->dials, &s->node, dial_failed, s);
    buf_init(&s->body);
    rc = start(s, ev, o, e);
    if (rc < 0)
        seg_service_free(s);
    else
        *out = s;
    return rc;
}

/* Also of a half-built one. */
void seg_service_free(struct seg_service *s)
{
    if (s == NULL)
        return;
    ev_unhook(s->node.ev, on_turn_end, s);
    ev_unhook(s->node.ev, on_flush, s);
    node_dials_free(&s->dials);
    node_close(&s->node);
    ev_timer_free(s->tick);
    segtab_free(s->tab);
    seg_journal_free(s->journal);
    audit_free(s->audit, ev_wall_ms(s->node.ev));
    seg_passes_free(s->passes);
    free(s->wanted);
    buf_fini(&s->body);
    free(s);
}

void seg_service_reload(struct seg_service *s, const struct seg_cfg *c)
{
    node_reload(&s->node, &c->node);
}

void seg_service_stop(struct seg_service *s)
{
    (void)node_stop(&s->node);
}
