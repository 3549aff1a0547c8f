/* trace.c: an operator asks about a ticket (common/wire/msg_segment_manager.h).
 *
 *   WHY --> what is known now --> WHY_ANS (more)
 *       --> the trail's thread looks through its files --a tick later--> WHY_ANS (lines)
 *
 * A manager that is gone by then gets nothing: it does not know the question any more. */
#include "segment/service/trace.h"

#include "common/node/node_peers.h"
#include "segment/service/step.h"

static void say(struct node_peer *p, const struct msg_why_ans *a)
{
    struct msg m = { .type = MSG_WHY_ANS, .why_ans = *a };

    if (rpc_send(p->ch, &m, 0) < 0)
        rpc_chan_close(p->ch, "no memory to answer");
}

void seg_trace(struct seg_service *s, struct node_peer *p, const struct msg_why *q)
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
