/* step.c: one step of the table; what it wants said is sent before anything else happens. */
#include "segment/service/step.h"

#include <assert.h>

#include "common/node/node_peers.h"

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
