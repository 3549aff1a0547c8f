/* peers.c: see peers.h. */
#include "segment/service/peers.h"

#include "segment/service/step.h"

msec_t seg_peers_silent_ms(const struct seg_service *s, msec_t now_ms)
{
    msec_t least = now_ms;

    each_node_peer (&s->node, p) {
        if (p->role == RPC_ROUTER)
            least = ms_min(least, now_ms - rpc_chan_heard_ms(p->ch));
    }
    return least > 0 ? least : 0;
}

static void dial_failed(void *service, const char *name)
{
    seg_step(service, (struct segtab_in){ .kind = SEGTAB_DIAL_FAIL, .name = name });
}

void seg_peers_init(struct seg_service *s)
{
    node_dials_init(&s->dials, &s->node, dial_failed, s);
}

void seg_peers_look(struct seg_service *s)
{
    node_dials_look(&s->dials, s->wanted, segtab_wanted(s->tab, s->wanted, SEG_WANTED_MAX));
}
