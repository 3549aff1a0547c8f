/* sim_pools.c: the manager of pools, task nodes and a router, under lost links, restarts, deleted
 * folders and a store that fails (tests/lib/poolrig.h): at most one owner per partition and epoch
 * (J18), no number begins anew, and calls to an endpoint are never above what it bears, whatever the
 * nodes have to do (J4). When all is well again, every share is served; what a node does not use of
 * an endpoint is with those that want it HANDED_ON later, and parts stay where they are; and of too
 * few slots each node has one in its turn.
 *   SEEDS=1000 FIRST=1 sim_pools    so many seeds, from this one
 *   SEED=n sim_pools                one */
#include "tests/lib/poolrig.h"

#include "tests/lib/criterion.h"

#include "tests/lib/quiet.h"

#define SEEDS 1000u
#define STEPS 120
#define RATE  7 /* calls a second of each endpoint */
#define HANDED_ON 4500 /* two reports, two looks at them, and the ways */

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define E(slots) "{\"name\": \"e\", \"url\": \"http://a/\", \"max_concurrent\": " #slots               \
                 ", \"rate_per_s\": " TEXT(RATE) "}"

static bool is_owner(const struct pr *r, int i, char endpoint)
{
    for (uint32_t k = 0; k < r->node[i].n; k++)
        if (r->node[i].part[k].endpoint == endpoint)
            return true;
    return false;
}

static void endpoint(struct pr *r)
{
    unsigned i = rng_below(&r->rng, PC_ENDPOINTS), k = rng_below(&r->rng, 8);
    struct err e = { 0 };
    char json[200];

    if (k == 0 && mng_undefine(r->m, DEF_ENDPOINT, r->now, &"e\0f"[2 * i], rng_below(&r->rng, 2) == 0,
                                      &r->out, &e) == 0) {
        pr_flush(r);
        while (pr_deliver(r))
            continue;
        for (int n = 0; n < PR_NODES; n++) /* one of this name that is made anew is another one */
            r->node[n].endpoint[i] = (struct pc_endpoint){ 0 };
        return;
    }
    snprintf(json, sizeof(json), "{\"name\": \"%c\", \"url\": \"http://a/\", \"paused\": %s, "
             "\"max_concurrent\": %u, \"rate_per_s\": %u}", "ef"[i], k == 1 ? "true" : "false",
             r->bears[i], RATE);
    (void)pr_endpoint(r, json, &e);
    snprintf(json, sizeof(json), "{\"match\": \"%c/%u*\", \"endpoint\": \"%c\"}", "ef"[i], k % 3, "ef"[i]);
    if (k < 4)
        (void)pr_pool(r, json, &e);
}

static void define(struct pr *r)
{
    static const char *const match[] = { "a", "b*", "b/c*", "*" };
    unsigned i = rng_below(&r->rng, 4), k = rng_below(&r->rng, 6);
    char json[100];
    struct err e = { 0 };

    if (r->m == NULL)
        return;
    if (rng_below(&r->rng, 3) == 0) {
        endpoint(r);
        return;
    }
    if (k == 0 && mng_undefine(r->m, DEF_POOL, r->now, match[i], rng_below(&r->rng, 2) == 0, &r->out,
                                  &e) == 0) {
        pr_flush(r);
        return;
    }
    snprintf(json, sizeof(json), "{\"match\": \"%s\", \"paused\": %s}", match[i],
             k == 1 ? "true" : "false");
    (void)pr_pool(r, json, &e);
}

static void draw_wants(struct pr *r, int node)
{
    static const unsigned some[] = { 0, 0, 1, 3, PC_CALLS };

    for (unsigned e = 0; e < PC_ENDPOINTS; e++)
        r->node[node].wants[e] = some[rng_below(&r->rng, ARRAY_LEN(some))];
}

static void happen(struct pr *r)
{
    int node = (int)rng_below(&r->rng, PR_NODES);

    switch (rng_below(&r->rng, 14)) {
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
    case 9:
        draw_wants(r, node);
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

/* What the endpoint bears is at its owners: at those without tasks `least`, at the others the rest,
 * in parts that differ by one. */
static void all_divided(struct pr *r, uint64_t least)
{
    uint64_t sum = 0, most = 0, fewest = UINT64_MAX;

    for (int i = 0; i < PR_NODES; i++) {
        uint64_t slots = r->node[i].endpoint[0].slots;

        sum += slots;
        if (!is_owner(r, i, 'e'))
            continue;
        if (r->node[i].wants[0] == 0 && slots != least)
            PR_BAD(r, "node %d without tasks has %llu slots", i, (unsigned long long)slots);
        if (r->node[i].wants[0] == 0)
            continue;
        most = u64_max(most, slots);
        fewest = u64_min(fewest, slots);
    }
    if (sum != r->bears[0] || most > fewest + 1)
        PR_BAD(r, "of %u slots the nodes have %llu: from %llu to %llu", r->bears[0],
               (unsigned long long)sum, (unsigned long long)fewest, (unsigned long long)most);
}

/* Some have tasks for the endpoint, some have not. */
static void demand_moves(struct pr *r)
{
    uint64_t serial[PR_NODES];
    bool any = false;

    r->longest = 200;
    pr_run(r, PC_LONGEST);
    for (int i = 0; i < PR_NODES; i++) {
        r->node[i].wants[0] = rng_below(&r->rng, 2) == 0 ? 0 : PC_CALLS;
        any |= is_owner(r, i, 'e') && r->node[i].wants[0] != 0;
    }
    pr_run(r, HANDED_ON);
    if (any)
        all_divided(r, 1);
    for (int i = 0; i < PR_NODES; i++)
        serial[i] = r->node[i].endpoint[0].serial;
    pr_run(r, 20000);
    for (int i = 0; i < PR_NODES; i++)
        if (serial[i] != r->node[i].endpoint[0].serial)
            PR_BAD(r, "node %d is told another share, and nothing has changed", i);
}

/* Fewer slots than nodes. */
static void turns_go_round(struct pr *r)
{
    uint64_t sent[PR_NODES];
    struct err e = { 0 };

    r->bears[0] = 0; /* calls that go on may be more than that */
    if (pr_endpoint(r, E(1), &e) < 0)
        PR_BAD(r, "%s", e.text);
    pr_run(r, 2000);
    r->bears[0] = 1;
    for (int i = 0; i < PR_NODES; i++) {
        r->node[i].wants[0] = PC_CALLS;
        sent[i] = r->node[i].endpoint[0].sent;
    }
    pr_run(r, 60000);
    for (int i = 0; i < PR_NODES; i++)
        if (is_owner(r, i, 'e') && r->node[i].endpoint[0].sent == sent[i])
            PR_BAD(r, "node %d has had no turn", i);
}

static void heal(struct pr *r)
{
    struct err e = { 0 };

    r->store_fails = false;
    r->slow = 0;
    pr_manager_begin(r);
    for (int i = 0; i < PR_NODES; i++) {
        r->node[i].mute = r->node[i].stands = false;
        r->node[i].wants[0] = PC_CALLS;
        pr_node_run(r, i, true);
    }
    if (pr_pool(r, "{\"match\": \"a\"}", &e) < 0)
        PR_BAD(r, "%s", e.text);
    if (pr_endpoint(r, E(5), &e) < 0)
        PR_BAD(r, "%s", e.text);
    pr_run(r, 15000);
    pr_all_served(r);
    pr_run(r, 60000);
    all_divided(r, 0);
    demand_moves(r);
    turns_go_round(r);
}

static bool run(uint64_t seed)
{
    struct pr *r = pr_new(seed);
    bool good;

    r->bears[0] = 5;
    r->bears[1] = 3;
    r->rate[0] = r->rate[1] = 1000 * RATE;
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
