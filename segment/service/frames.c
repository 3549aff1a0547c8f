/* frames.c: see frames.h. */
#include "segment/service/frames.h"

#include <assert.h>

#include "segment/service/step.h"
#include "segment/service/trace.h"

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
    segtab_append(s->tab, now, q->append.req, q->append.n, s->ans.append, &s->node.mem);
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
        segtab_place(s->tab, now, q->place.req, q->place.n, s->ans.place, &s->node.mem);
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
                       &s->node.mem);
        break;
    default:
        return false;
    }
    s->n.batches++;
    answer(ch, &a, rid);
    return true;
}

void seg_msg(void *service, struct node_peer *p, const struct msg *m, uint64_t rid)
{
    struct seg_service *s = service;

    if (batch(s, p->ch, m, rid))
        return;
    if (m->type == MSG_WHY) {
        seg_trace(s, p, &m->why);
        return;
    }
    seg_step(s, (struct segtab_in){ .kind = SEGTAB_MSG, .peer = p->no,
                                    .role = (uint8_t)p->role, .msg = m });
    if (m->type == MSG_NODE_OK)
        node_become_ready(&s->node);
}
