/* service.c: life of a segment node: start, ticks, the end of a turn, stop. */
#include "segment/service/service.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/node/node_peers.h"
#include "common/wire/codec.h"
#include "common/wire/msg.h"
#include "segment/service/metrics.h"

/* ---- frames ------------------------------------------------------------------------------- */

/* Messages in, answers, pushes. */

struct seg_now seg_now(const struct seg_service *s)
{
    return (struct seg_now){ .now_ms = ev_now(s->node.ev), .wall_ms = ev_wall_ms(s->node.ev) };
}

void seg_step(struct seg_service *s, struct segtab_in in)
{
    assert(s->node.out.n == 0); /* messages of the step before are sent */
    in.now = seg_now(s);
    segtab_step(s->tab, &in, &s->node.out);
    node_send(&s->node);
    s->pushed.type = MSG_NONE; /* memory behind it goes */
    s->look_at_wanted = true;
}

/* Answers go straight into the channel's output, under the question's id. */
static void answer(struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    if (rpc_send(ch, m, rid) < 0)
        rpc_chan_close(ch, "no memory to answer");
}

/* ---- an operator asks about a ticket --------------------------------------------------- */

static void say(struct node_peer *p, const struct msg_why_ans *a)
{
    answer(p->ch, &(struct msg) { .type = MSG_WHY_ANS, .why_ans = *a }, 0);
}

/* Answers what is known now, and starts the search in the trail. */
static void trace(struct seg_service *s, struct node_peer *p, const struct msg_why *q)
{
    struct audit_ask look = { .ask = q->ask,
                              .peer = p->no,
                              .id = { q->seg, q->number },
                              .max = WHY_LINES_MAX };
    struct msg_why_ans a;

    segtab_why(s->tab, seg_now(s), q, &a);
    a.trail = s->audit != NULL;
    a.more = a.trail && audit_look(s->audit, &look, ev_wall_ms(s->node.ev));
    say(p, &a);
}

static void seg_trace_tick(struct seg_service *s)
{
    struct audit_found f;

    while (audit_found(s->audit, &f)) {
        struct node_peer *p = node_peer_find(&s->node, f.ask.peer);
        struct msg_why_ans a = { .ask = f.ask.ask,
                                 .lines_only = true,
                                 .trail = true,
                                 .trail_bytes = f.read };

        buf_byte(&f.lines, 0);
        a.trail_whole = f.whole && !f.lines.failed;
        a.lines = f.lines.failed ? "" : (const char *)f.lines.data;
        if (p != NULL)
            say(p, &a);
        buf_fini(&f.lines);
    }
}

/* ---- messages in ------------------------------------------------------------------------ */

bool seg_full(struct seg_service *s, uint64_t n)
{
    return !memory_is_spare(MEMORY_SPARE) || !seg_journal_reserve(s->journal, n);
}

/* Room that their records need, in tickets. */
static uint64_t contact_room(const struct msg_contact *q)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < q->n; i++)
        n += 2 + q->req[i].n_sealed / SEG_TICKET_BYTES;
    return n;
}

/* False: it is none. */
static bool batch(struct seg_service *s, struct node_peer *p, const struct msg *q, uint64_t rid)
{
    struct seg_now now = seg_now(s);
    struct msg a = { 0 };

    switch (q->type) {
    case MSG_PLACE:
        assert(q->place.n <= ARRAY_LEN(s->ans.place)); /* the codec refuses more */
        a.type = MSG_PLACE_ANS;
        a.place_ans.n = q->place.n;
        a.place_ans.ans = s->ans.place;
        segtab_place(s->tab, now, q->place.req, q->place.n, s->ans.place, &s->node.mem);
        break;
    case MSG_APPEND:
        assert(q->append.n <= ARRAY_LEN(s->ans.append)); /* the codec refuses more */
        a.type = MSG_APPEND_ANS;
        a.append_ans.ans = s->ans.append;
        /* Later than they were sent, also if we were stopped in this turn: a join that was
         * too late for the draw must not be in it. */
        now.wall_ms = ev_read_wall_ms();
        segtab_full(s->tab, seg_full(s, q->append.n));
        a.append_ans.n = segtab_append_from(s->tab, now, &(struct append_from) { p->no, rid },
                                            q->append.req, q->append.n, s->ans.append, &s->node.mem);
        break;
    case MSG_DROP:
        assert(q->drop.n <= ARRAY_LEN(s->ans.drop)); /* the codec refuses more */
        a.type = MSG_DROP_ANS;
        a.drop_ans.n = q->drop.n;
        a.drop_ans.ans = s->ans.drop;
        segtab_drop(s->tab, now, q->drop.req, q->drop.n, s->ans.drop);
        break;
    case MSG_SESSION:
        assert(q->session.n <= ARRAY_LEN(s->ans.session)); /* the codec refuses more */
        a.type = MSG_SESSION_ANS;
        a.session_ans.n = q->session.n;
        a.session_ans.ans = s->ans.session;
        segtab_session(s->tab, now, q->session.req, q->session.n, s->ans.session,
                       &s->node.mem);
        break;
    case MSG_CONTACT:
        assert(q->contact.n <= ARRAY_LEN(s->ans.contact)); /* the codec refuses more */
        a.type = MSG_CONTACT_ANS;
        a.contact_ans.n = q->contact.n;
        a.contact_ans.ans = s->ans.contact;
        segtab_full(s->tab, seg_full(s, contact_room(&q->contact)));
        segtab_contact(s->tab, now, q->contact.req, q->contact.n, s->ans.contact);
        break;
    default:
        return false;
    }
    s->n.batches++;
    if (a.type != MSG_APPEND_ANS || a.append_ans.n > 0) /* else: all of them wait */
        answer(p->ch, &a, rid);
    return true;
}

void seg_msg(void *service, struct node_peer *p, const struct msg *m, uint64_t rid)
{
    struct seg_service *s = service;

    if (batch(s, p, m, rid))
        return;
    if (m->type == MSG_WHY) {
        trace(s, p, &m->why);
        return;
    }
    seg_step(s, (struct segtab_in){ .kind = SEGTAB_MSG, .peer = p->no,
                                    .role = (uint8_t)p->role, .msg = m });
    if (m->type == MSG_NODE_OK)
        node_become_ready(&s->node);
}

/* ---- pushes ----------------------------------------------------------------------------- */

/* Called once for each router, in sequence. */
static int push_replica(struct seg_service *s, struct rpc_chan *ch, const struct msg *m)
{
    bool first = s->pushed.type != m->type || memcmp(&s->pushed, m, sizeof(*m)) != 0;
    int rc = 0;

    if (first) {
        s->pushed = *m;
        buf_reset(&s->body);
        rc = msg_encode(m, &s->body);
    }
    if (rc == 0 && s->body.len > 0) { /* empty: the first of these was not encoded */
        buf_append(rpc_begin(ch), s->body.data, s->body.len);
        rc = rpc_end(ch, MSG_REPLICA, 0);
        s->n.replica_bytes += s->body.len + FRAME_HEADER_BYTES;
    }
    if (rc < 0 || s->body.len == 0)
        rpc_chan_close(ch, "a push cannot be built"); /* a router must not miss anything */
    return rc;
}

static int seg_push(void *service, struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    return m->type == MSG_REPLICA ? push_replica(service, ch, m) : rpc_send(ch, m, rid);
}

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
        .log_room = s->journal != NULL ? seg_journal_room : NULL,
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
                                          .role = (uint8_t)p->role, .name = name });
}

static void on_down(void *service, const struct node_peer *p)
{
    seg_step(service, (struct segtab_in){ .kind = SEGTAB_DOWN, .peer = p->no,
                                          .role = (uint8_t)p->role });
}

static void on_warn(void *service, struct buf *b)
{
    const struct seg_service *s = service;

    seg_journal_warn(s->journal, b);
}

static const struct node_kind kind = {
    .role = RPC_SEGMENT,
    .peers = 1u << RPC_ROUTER | 1u << RPC_SEGMENT,
    .metrics = seg_metrics,
    .warn = on_warn,
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
    int rc = node_open(&s->node, ev, c, &o->node, &kind, s, e)
          ?: seg_journal_new(&s->journal, c, NULL, e)
          ?: make_audit(s, o->cfg, e)
          ?: make_tab(s, o, e)
          ?: ev_hook(ev, 0, on_turn_end, s)
          ?: ev_hook(ev, RPC_HOOK_LAST - 1, on_flush, s);

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
