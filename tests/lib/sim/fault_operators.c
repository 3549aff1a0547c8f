/* fault_operators.c: what operators do at random: drains, pauses, other definitions, nodes. */
#include "tests/lib/sim/state.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/ops.h"

void fault_drain(struct sim *s)
{
    unsigned no = (unsigned)rng_below(&s->rng, s->o.segs);

    if (s->o.segs < 2)
        return;
    sim_drain(s, no, true);
    faults_mend_later(s, MEND_UNDRAIN, no, sim_rand(s, 3000, 25000));
}

/* An operator's slip: nobody has room, until he takes it back; and a queue is made, or
 * flushed, meanwhile. */
void fault_drain_all(struct sim *s)
{
    double ms = sim_rand(s, 5000, 40000);

    for (unsigned i = 0; i < s->o.segs; i++) {
        sim_drain(s, i, true);
        faults_mend_later(s, MEND_UNDRAIN, i, ms);
    }
    ops_side_queue(s);
}

void fault_forget(struct sim *s)
{
    for (unsigned i = 0; i < s->o.segs; i++)
        sim_forget(s, i);
}

void fault_queue_pause(struct sim *s)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);

    sim_order(s, q, MNG_PAUSE);
    faults_mend_later(s, MEND_OPEN, q, sim_rand(s, 500, 6000));
}

void fault_queue_close(struct sim *s)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);

    sim_order(s, q, MNG_CLOSE);
    faults_mend_later(s, MEND_OPEN, q, sim_rand(s, 500, 6000));
}

static void order(struct sim *s, enum mng_order o)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);

    sim_order(s, q, o);
    faults_mend_later(s, MEND_OPEN, q, sim_rand(s, 500, 5000));
}

void fault_queue_passthrough(struct sim *s)
{
    order(s, MNG_PASSTHROUGH);
}

void fault_queue_reject(struct sim *s)
{
    order(s, MNG_REJECT);
}

/* Never shorter times than those by which the checks go. */
void fault_queue_patch(struct sim *s)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);
    struct spatch x = ops_unpatched(s);

    for (unsigned l = 0; l < LANES_MAX; l++)
        x.weight[l] = 1 + (uint32_t)rng_below(&s->rng, 20);
    x.boost = sim_rand(s, 1, s->o.no_show_boost);
    x.claim_ms += (msec_t)rng_below(&s->rng, (uint64_t)x.claim_ms);
    if (x.claim_ms > s->o.pass_ttl_ms) /* that is refused */
        x.claim_ms = s->o.pass_ttl_ms;
    x.grace_ms += (msec_t)rng_below(&s->rng, 5000);
    x.idle_ms += (msec_t)rng_below(&s->rng, (uint64_t)x.idle_ms / 2);
    x.poll_max_ms += (msec_t)rng_below(&s->rng, 2000);
    x.direct_entry = rng_chance(&s->rng, 0.5);
    s->queue[q].patch = x;
    ops_queue_put(s, q);
}

void fault_queue_put(struct sim *s)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);
    struct squeue *x = &s->queue[q];

    x->capacity = (uint32_t)rng_below(&s->rng, 80) + 5;
    x->open_next_at = sim_rand(s, 0.3, 1.0);
    x->merge = rng_chance(&s->rng, 0.8);
    if (s->o.max_active > 0)
        sim_max_active(s, q, 1 + (uint32_t)rng_below(&s->rng, 2 * s->o.max_active));
    sim_rate(s, q, s->o.release_per_s * sim_rand(s, 0.3, 3.0));
}

void fault_release_by_hand(struct sim *s)
{
    sim_release(s, (unsigned)rng_below(&s->rng, s->o.queues), 1 + rng_below(&s->rng, 20));
}

void fault_add_node(struct sim *s)
{
    sim_add_node(s);
}
