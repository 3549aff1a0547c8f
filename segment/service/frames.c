/* frames.c: incoming messages: batches are answered at once, the rest is a step. */
#include "segment/service/frames.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"
#include "segment/service/send.h"
#include "segment/service/step.h"
#include "segment/service/trace.h"

#define LOG_MODULE "segment"

/* Answers go straight into the channel's output, under the question's id. */
static void answer(struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    if (rpc_send(ch, m, rid) < 0)
        rpc_chan_close(ch, "no memory to answer");
}

static void join(struct seg_service *s, const struct msg *q, struct seg_now now)
{
    bool ok = seg_journal_reserve(s->journal, q->append.n);

    segtab_full(s->tab, !ok);
    segtab_append(s->tab, now, q->append.req, q->append.n, s->ans.append, &s->mem);
}

/* False: it is none. */
static bool batch(struct seg_service *s, struct rpc_chan *ch, const struct msg *q, uint64_t rid)
{
    struct seg_now now = seg_now(s);
    struct msg a = { 0 };

    switch (q->type) {
    case MSG_PLACE:
        assert(q->place.n <= ARRAY_LEN(s->ans.place)); /* the codec refuses more */
        a.type = MSG_PLACE_ANS;
        a.place_ans.n = q->place.n;
        a.place_ans.ans = s->ans.place;
        segtab_place(s->tab, now, q->place.req, q->place.n, s->ans.place, &s->mem);
        break;
    case MSG_APPEND:
        assert(q->append.n <= ARRAY_LEN(s->ans.append)); /* the codec refuses more */
        a.type = MSG_APPEND_ANS;
        a.append_ans.n = q->append.n;
        a.append_ans.ans = s->ans.append;
        /* Later than they were sent, also if we were stopped in this turn: a join that was
         * too late for the draw must not be in it. */
        now.wall_ms = ev_read_wall_ms();
        join(s, q, now);
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
                       &s->mem);
        break;
    default:
        return false;
    }
    s->n.batches++;
    answer(ch, &a, rid);
    return true;
}

static void refuse(struct seg_service *s, struct seg_peer *p, const struct frame *f,
                   const char *what)
{
    char why[80];

    s->n.bad_frames++;
    snprintf(why, sizeof(why), "%s %s from a %s", what, msg_name(f->type),
             rpc_role_name(p->role));
    rpc_chan_close(p->ch, why);
}

/* A standby manager says which one leads, as "ADDRESS NAME", or "". The link to that one is
 * made at the end of the turn. */
static void told_leader(struct seg_service *s, const struct seg_peer *p, const char *text)
{
    char addr[64] = "", name[NAME_MAX_LEN + 1] = "";

    (void)sscanf(text, "%63s %64s", addr, name);
    log_info("event=standby_manager manager=%s leader=%s", rpc_chan_peer(p->ch)->node,
             addr[0] != 0 ? log_q(addr, strlen(addr)) : "-");
    if (p->role != RPC_MANAGER || addr[0] == 0)
        return;
    memcpy(s->told_leader.addr, addr, sizeof(addr));
    memcpy(s->told_leader.name, name, sizeof(name));
}

static void handle(struct seg_service *s, struct seg_peer *p, const struct msg *m, uint64_t rid)
{
    if (batch(s, p->ch, m, rid))
        return;
    s->n.orders++;
    if (m->type == MSG_WHY) {
        seg_trace(s, p, &m->why);
        return;
    }
    if (m->type == MSG_ERROR && m->error.code == SQ_ENOTLEADER) {
        told_leader(s, p, m->error.text);
        return;
    }
    if (m->type == MSG_ERROR) {
        log_warn("event=refused peer=%s error=\"%s\" about=%s text=%s", rpc_chan_peer(p->ch)->node,
                 sq_strerror(m->error.code), msg_name(m->error.about),
                 log_q(m->error.text, strlen(m->error.text)));
        return;
    }
    seg_step(s, (struct segtab_in){ .kind = SEGTAB_MSG, .peer = p->no,
                                    .role = (uint8_t)p->role, .msg = m });
    if (m->type == MSG_NODE_OK)
        seg_become_ready(s);
}

void seg_on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct seg_service *s = ctx;
    struct seg_peer *p = rpc_chan_data(ch);
    struct msg m;
    int rc;

    if (p == NULL)
        return; /* closing: there was no memory for it when it came up */
    rc = msg_decode(f->type, f->body, f->len, &s->mem, &m);
    if (rc == SQ_EUNKNOWN) {
        s->n.unknown++;
        seg_send_error(s, p, f, rc);
    } else if (rc == SQ_ENOMEM) {
        seg_send_error(s, p, f, rc);
    } else if (rc < 0) {
        refuse(s, p, f, "damaged");
    } else if (!msg_may(p->role, RPC_SEGMENT, m.type)) {
        refuse(s, p, f, "not allowed:");
    } else {
        handle(s, p, &m, f->rid);
    }
    arena_reset(&s->mem);
}
