/* sim_pools.c: the manager of pools, task nodes and a router, under lost links, restarts, deleted
 * folders and a store that fails (tests/lib/poolrig.h): at most one owner per partition and epoch
 * (J18), no number begins anew; and when all is well again, every share is served.
 *   SEEDS=1000 FIRST=1 sim_pools    so many seeds, from this one
 *   SEED=n sim_pools                one */
#include "tests/lib/poolrig.h"

#include <criterion/criterion.h>

#include "tests/lib/quiet.h"

#define SEEDS 1000u
#define STEPS 120

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

static void define(struct pr *r)
{
    static const char *const match[] = { "a", "b*", "b/c*", "*" };
    unsigned i = rng_below(&r->rng, 4), k = rng_below(&r->rng, 6);
    char json[100];
    struct err e = { 0 };

    if (r->m == NULL)
        return;
    if (k == 0 && mng_pool_delete(r->m, r->now, match[i], rng_below(&r->rng, 2) == 0, &r->out,
                                  &e) == 0) {
        pr_flush(r);
        return;
    }
    snprintf(json, sizeof(json), "{\"match\": \"%s\", \"paused\": %s}", match[i],
             k == 1 ? "true" : "false");
    (void)pr_pool(r, json, &e);
}

static void happen(struct pr *r)
{
    int node = (int)rng_below(&r->rng, PR_NODES);

    switch (rng_below(&r->rng, 12)) {
    case 0:
        pr_cut(r, node);
        break;
    case 1:
        pr_cut(r, PR_ROUTER);
        break;
    case 2:
        pr_node_run(r, node, !r->node[node].runs);
        break;
    case 3:
        pr_manager_end(r);
        break;
    case 4:
        r->store_fails = rng_below(&r->rng, 2) == 0;
        break;
    case 5:
        r->node[node].mute = rng_below(&r->rng, 2) == 0;
        r->node[node].stands = rng_below(&r->rng, 2) == 0;
        break;
    case 6:
        if (rng_below(&r->rng, 4) == 0)
            pr_node_wipe(r, node);
        break;
    case 7:
        define(r);
        break;
    case 8:
        r->slow = (unsigned)rng_below(&r->rng, 6);
        break;
    default:
        break;
    }
    if (r->m == NULL && !r->store_fails && rng_below(&r->rng, 2) == 0)
        pr_manager_begin(r);
    for (unsigned n = rng_below(&r->rng, 40); n > 0 && pr_deliver(r); n--)
        continue;
    if (r->map.n_pools != 0)
        (void)pr_submit(r, rng_below(&r->rng, r->map.n_pools), rng_below(&r->rng, 16));
}

static void heal(struct pr *r)
{
    struct err e = { 0 };

    r->store_fails = false;
    r->slow = 0;
    pr_manager_begin(r);
    for (int i = 0; i < PR_NODES; i++) {
        r->node[i].mute = r->node[i].stands = false;
        pr_node_run(r, i, true);
    }
    if (pr_pool(r, "{\"match\": \"a\"}", &e) < 0)
        PR_BAD(r, "%s", e.text);
    pr_run(r, 15000);
    pr_all_served(r);
}

static bool run(uint64_t seed)
{
    struct pr *r = pr_new(seed);
    bool good;

    for (unsigned i = 0; i < STEPS && r->why[0] == '\0'; i++) {
        happen(r);
        if (rng_below(&r->rng, 2) == 0)
            pr_run(r, 100 * (1 + rng_below(&r->rng, 20)));
    }
    heal(r);
    good = r->why[0] == '\0';
    if (!good)
        fprintf(stderr, "seed %lu: %s (SEED=%lu sim_pools)\n", seed, r->why, seed);
    pr_free(r);
    return good;
}

Test(sim_pools, seeds)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1);
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS), bad = 0;

    if (only == 0)
        quiet_log();
    for (uint64_t i = 0; i < n; i++)
        bad += !run(first + i);
    cr_assert_eq(bad, 0);
}
