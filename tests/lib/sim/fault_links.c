/* fault_links.c: faults of links: broken, cut for a while, slow. */
#include "tests/lib/sim/state.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/proc.h"

static struct conn *any_conn(struct sim *s)
{
    for (int tries = 0; tries < 20 && s->n_conns > 0; tries++) {
        struct conn *c = s->conn[rng_below(&s->rng, s->n_conns)];

        if (!c->broken && c->told[0])
            return c;
    }
    return NULL;
}

static void cut(struct sim *s, unsigned a, unsigned b, double ms)
{
    usec_t until = s->now + (usec_t)(ms * 1000);

    s->blocked_until[a][b] = s->blocked_until[b][a] = until;
    for (unsigned k = 0; k < 2; k++) {
        struct conn *c = k == 0 ? s->link[a][b] : s->link[b][a];

        if (c != NULL)
            net_break(s, c, 3000);
    }
}

void fault_link_break(struct sim *s)
{
    struct conn *c = any_conn(s);

    if (c == NULL)
        return;
    s->blocked_until[c->end[0]][c->end[1]] = s->now + (usec_t)sim_rand(s, 0, 8e5);
    net_break(s, c, 1500);
}

void fault_link_cut(struct sim *s)
{
    struct conn *c = any_conn(s);

    if (c != NULL)
        cut(s, c->end[0], c->end[1], sim_rand(s, 500, 8000));
}

void fault_slow_link(struct sim *s)
{
    struct conn *c = any_conn(s);

    if (c != NULL)
        s->slow_until[c->end[0]][c->end[1]] = s->now + (usec_t)sim_rand(s, 1e6, 1e7);
}

/* Who hears nothing closes the link after three heartbeats; the other one is told by that. */
void fault_link_oneway(struct sim *s)
{
    struct conn *c = any_conn(s);
    unsigned side = (unsigned)rng_below(&s->rng, 2);

    if (c == NULL)
        return;
    sim_note(s, "link %lu>%lu (conn %lu) is mute towards %lu", c->end[0], c->end[1], c->id,
             c->end[side], 0);
    c->mute[side] = true;
    s->blocked_until[c->end[0]][c->end[1]] = s->now + (usec_t)sim_rand(s, 1e6, 8e6);
    faults_mend_later(s, MEND_ONEWAY, c->id, sim_rand(s, 2500, 3500));
}

void sim_cut(struct sim *s, enum sim_who a, unsigned a_no, enum sim_who b, unsigned b_no,
             msec_t ms)
{
    cut(s, proc_of(s, a, a_no)->idx, proc_of(s, b, b_no)->idx, (double)ms);
}
