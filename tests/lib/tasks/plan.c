/* plan.c: swarm testing: each seed has some things often, and some not at all. */
#include "tests/lib/tasks/plan.h"

#include "common/base/rng.h"

static uint64_t between(struct rng *g, uint64_t a, uint64_t b)
{
    return a + rng_below(g, b - a + 1);
}

/* In half of the seeds 0, else up to `most`. */
static double some(struct rng *g, double most)
{
    return rng_chance(g, 0.5) ? 0 : rng_unit(g) * most;
}

static void draw_limits(struct task_rules *r, struct rng *g)
{
    if (rng_chance(g, 0.4)) {
        r->queue_rate = between(g, 1000, 100000);
        r->queue_burst = between(g, 1, 20);
    }
    if (rng_chance(g, 0.4))
        r->queue_at_once = between(g, 1, 10);
    if (rng_chance(g, 0.4)) {
        r->key_rate = between(g, 500, 20000);
        r->key_burst = between(g, 1, 8);
    }
    if (rng_chance(g, 0.4))
        r->key_at_once = between(g, 1, 4);
    if (rng_chance(g, 0.2)) {
        r->below_rate = between(g, 500, 5000);
        r->below_burst = between(g, 1, 3);
    }
    if (rng_chance(g, 0.3))
        r->below_at_once = between(g, 1, 2);
}

static void draw_rules(struct task_rules *r, struct rng *g)
{
    rules_default(r);
    r->order = rng_below(g, ORDER_NKINDS);
    r->max_attempts = between(g, 1, 5);
    r->retry_min_ms = between(g, 0, 2000);
    r->retry_max_ms = r->retry_min_ms + between(g, 0, 10000);
    r->retry_jitter = between(g, 0, 50);
    r->ttl_ms = rng_chance(g, 0.3) ? between(g, 5000, 60000) : 0;
    r->result_ms = between(g, 1000, 60000);
    r->read_ms = between(g, 0, 5000);
    r->dead_ms = between(g, 1000, 60000);
    r->dedup_ms = between(g, 0, 60000);
    for (unsigned p = 0; p + 1 < TASK_PRIORITIES; p++)
        (&r->head_start_1)[p] = (p > 0 ? (&r->head_start_1)[p - 1] : 0) + between(g, 0, 4000);
    draw_limits(r, g);
    if (rng_chance(g, 0.3))
        r->until_told = 1 + between(g, 500, 30000);
}

uint64_t plan_draw_units(uint64_t *units, struct rng *g)
{
    static const uint64_t most[RATE_NPERS] = { 200, 6000, 300000, 6000000 };
    unsigned n = 1 + (unsigned)rng_below(g, UNIT_RATES_MAX);
    uint64_t windows = 0;

    for (unsigned i = 0; i < n; i++, units += 3) {
        units[1] = rng_below(g, RATE_NPERS);
        units[0] = between(g, most[units[1]] / 20, most[units[1]]);
        units[2] = rng_chance(g, 0.3) ? 0 : between(g, 1, 200);
        if (units[1] != PER_SECOND && rng_chance(g, 0.4)) {
            windows |= (uint64_t)1 << (ZONE_BITS * i);
            units[0] = between(g, 5, rng_chance(g, 0.5) ? 50 : 1000);
        }
    }
    return windows;
}

void plan_draw_tasks(struct plan *p, uint64_t seed)
{
    struct rng g;

    rng_seed(&g, seed ^ 0x7461736b73);
    *p = (struct plan){ 0 };
    draw_rules(&p->rules, &g);
    p->queues = (unsigned)between(&g, 1, 3);
    p->keys = (unsigned)between(&g, 0, 5);
    p->below = (unsigned)(rng_chance(&g, 0.5) ? between(&g, 0, 3) : 0);
    p->priorities = (unsigned)(rng_chance(&g, 0.5) ? 1 : between(&g, 1, TASK_PRIORITIES));
    p->steps = (unsigned)between(&g, 300, 1200);
    p->step_ms = (uint32_t)(rng_chance(&g, 0.3) ? between(&g, 1, 5) : between(&g, 10, 300));
    p->lease_ms = (uint32_t)between(&g, 500, 20000);
    p->submit = 0.1 + rng_unit(&g) * 0.6;
    p->take = 0.1 + rng_unit(&g) * 0.6;
    p->settle = 0.2 + rng_unit(&g) * 0.6;
    p->other = some(&g, 0.4);
    p->batch = rng_chance(&g, 0.5) ? 1 : (double)between(&g, 2, 8);
    p->named = some(&g, 1);
    p->unique = some(&g, 0.8);
    p->delayed = some(&g, 0.8);
    p->at_wall = some(&g, 0.5);
    p->special = some(&g, 0.5);
    p->fail = some(&g, 0.5);
    p->vanish = some(&g, 0.4);
    p->late = some(&g, 0.3);
    p->kill = some(&g, 0.05);
    p->whole = rng_unit(&g);
    p->refuse = some(&g, 0.03);
    p->down = some(&g, 30000);
    p->snapshot = some(&g, 0.05);
    p->move = some(&g, 0.01);
    p->jump = some(&g, 0.03);
    p->shared = rng_chance(&g, 0.3);
    p->lost = some(&g, 0.4);
    p->redefine = some(&g, 0.01);
    p->tell = some(&g, 0.05);
    p->sleep = some(&g, 0.03);
    p->unseen = some(&g, 0.3);
    p->costly = some(&g, 1);
    p->cost_most = rng_chance(&g, 0.5) ? 5 : 300;
    p->settles = p->costly > 0 ? some(&g, 1) : 0;
    if (rng_chance(&g, 0.3))
        p->rules.windows |= plan_draw_units(&p->rules.queue_units_1, &g);
    if (rng_chance(&g, 0.3))
        p->rules.windows |= plan_draw_units(&p->rules.key_units_1, &g) << LIMIT_WINDOWS;
    if (rng_chance(&g, 0.2))
        p->rules.windows |= plan_draw_units(&p->rules.below_units_1, &g) << 2 * LIMIT_WINDOWS;
    if (rng_chance(&g, 0.25))
        p->rules.max_waiting_units = between(&g, 1, p->costly > 0 ? 10 * p->cost_most : 30);
    if (p->queues > 1 && p->rules.order != ORDER_STRICT)
        p->offered = some(&g, 0.7);
}
