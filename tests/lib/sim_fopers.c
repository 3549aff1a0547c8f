/* sim_fopers.c: what operators do at random: drains, pauses, other definitions, nodes. */
#include "tests/lib/sim_int.h"

void fault_drain(struct sim *s)
{
    unsigned no = (unsigned)rng_below(&s->rng, s->o.segs);

    if (s->o.segs < 2)
        return;
    sim_drain(s, no, true);
    faults_mend_later(s, MEND_UNDRAIN, no, sim_rand(s, 3000, 25000));
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
