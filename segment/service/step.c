/* step.c: one step of the table; what it wants said is sent before anything else happens. */
#include "segment/service/step.h"

#include <assert.h>

#include "segment/service/send.h"

struct seg_now seg_now(const struct seg_service *s)
{
    return (struct seg_now){ .now_ms = ev_now(s->ev), .wall_ms = ev_wall_ms(s->ev) };
}

void seg_step(struct seg_service *s, struct segtab_in in)
{
    assert(s->out.n == 0); /* what the step before said is sent */
    in.now = seg_now(s);
    segtab_step(s->tab, &in, &s->out);
    seg_send(s);
    s->look_at_wanted = true;
}

void seg_become_ready(struct seg_service *s)
{
    if (s->ready)
        return;
    s->ready = true;
    if (s->on_ready != NULL)
        s->on_ready(s->ctx);
}
