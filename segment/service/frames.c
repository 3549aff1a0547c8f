/* frames.c: messages in, answers, pushes. */
#include "segment/service/frames.h"

#include <assert.h>
#include <string.h>

#include "common/node/node_peers.h"
#include "common/wire/codec.h"
#include "common/wire/frame.h"

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

void seg_trace_tick(struct seg_service *s)
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

int seg_push(void *service, struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    return m->type == MSG_REPLICA ? push_replica(service, ch, m) : rpc_send(ch, m, rid);
}
