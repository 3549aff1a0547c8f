/* suspecting.c: see suspecting.h. */
#include "router/state/suspecting.h"

bool suspecting_of(const struct route_queue *q, limit_id client, struct suspect_of *of)
{
    if (q->map.suspects == SUSPECTS_OFF || q->map.suspects_from == 0 || client == 0)
        return false;
    *of = (struct suspect_of){ q->map.id, limit_prefix(client), limit_site(client), q->map.suspects_from,
                               q->map.suspects_places };
    return true;
}

void suspecting_placed(struct router *r, limit_id client, const struct flow *f)
{
    struct suspect_of of;
    struct route_owner o;

    if (r->suspects == NULL || f->result != FLOW_OK || f->admitted ||
        routes_owner(r->routes, f->token.seg, &o) < 0 || o.queue == NULL || !suspecting_of(o.queue, client, &of))
        return;
    suspects_count(r->suspects, &of, SUSPECT_PLACES, ev_now(r->ev));
    if (f->poll_after_ms <= SUSPECT_POLL_MS)
        suspects_count(r->suspects, &of, SUSPECT_OWED, ev_now(r->ev));
}

void suspecting_heard_of(struct router *r, const struct token *t, bool polls)
{
    struct suspect_of of;
    struct route_owner o;

    if (routes_owner(r->routes, t->seg, &o) < 0 || o.queue == NULL ||
        !suspecting_of(o.queue, r->gate.client, &of))
        return;
    if (polls)
        suspects_heard(r->suspects, of.queue, ev_now(r->ev));
    if (router_wall_s() - (int64_t)t->issued_s <= SUSPECT_YOUNG_S)
        suspects_polled(r->suspects, &of, t->seg, t->number, ev_now(r->ev));
}
