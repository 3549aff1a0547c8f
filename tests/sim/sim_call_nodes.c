/* sim_call_nodes.c: the calls of four nodes to one endpoint, whose rate and slots the manager divides
 * among them by what they have to do, while partitions move between nodes with calls at the target,
 * nodes and the manager are killed at any moment of an ACCEPT, a START, a send, an answer and an END,
 * and links break (tests/lib/callnodes.h has what is judged). In every second seed callers hear answers
 * while they come. With several targets each has slots of its own (J4); the calm days have them, too; in every
 * second seed calls go to the target of their key.
 *   SEEDS=1000 FIRST=1 sim_call_nodes    so many seeds, from this one
 *   SEED=n sim_call_nodes                one */
#include "tests/lib/callnodes.h"
#include "tests/lib/movedays.h"

#include "tests/lib/criterion.h"

#include "tests/lib/quiet.h"

#define SHARDS 4u
#if defined(__SANITIZE_ADDRESS__)
#define SEEDS 40u
#else
#define SEEDS 200u
#endif
#define STEPS 60

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

/* Its calls go on at a target that takes its time, perhaps it knows of them only by its journal,
 * and its partitions go elsewhere. */
static void leave(struct mv *w, int i)
{
    cn_of->mood = rng_chance(&w->r->rng, 0.5) ? SLOW : SILENT;
    for (int k = 0; k < PR_NODES; k++) {
        if (!w->r->node[k].runs)
            pr_node_run(w->r, k, true);
        mv_drain(w, k, k == i);
    }
    if (w->node[i].t != NULL && rng_chance(&w->r->rng, 0.5))
        mv_kill(w, i, false);
}

enum mode { CALLS, READS, TARGETS, NAMES, UNITS, BODIES, WINDOWS };

static bool run(uint64_t seed, bool shared, enum mode mode, uint64_t sum[11])
{
    struct cn *c = cn_new(seed, shared);
    struct mv *w = c->w;
    bool good;

    c->readers.on = mode == READS;
    c->units = mode == UNITS;
    c->windows = mode == WINDOWS;
    c->by_budget = c->windows && seed % 3 == 0;
    c->discovers = mode == NAMES;
    c->targets = mode == TARGETS || mode == NAMES || ((c->units || c->windows) && seed % 2 != 0);
    c->affinity = w->keys = (mode == TARGETS || mode == NAMES) && seed % 2 == 0;
    w->costs = c->units ? CN_COST : c->windows ? CN_LARGE : 0;
    if (c->targets || c->units || c->windows)
        cn_define(c, 0);
    rng_seed(&c->readers.rng, seed + 77);
    if (mode == BODIES)
        ml_new(w, seed);

    mv_draw(w);
    for (unsigned i = 0; i < STEPS && w->r->why[0] == '\0'; i++) {
        mv_happen(w, 14, leave);
        cn_change_targets(c);
        if (mode == BODIES && rng_chance(&w->r->rng, 0.4))
            mv_drain(w, (int)rng_below(&w->r->rng, PR_NODES), rng_chance(&w->r->rng, 0.5));
        for (unsigned k = 0; k < (c->windows ? 10 : 1); k++) {
            pr_run(w->r, 100 * (1 + rng_below(&w->r->rng, 20)));
            w->quiet |= c->windows && w->n_tasks >= 40;
        }
        ml_look(w, false);
    }
    c->mood = WELL;
    c->well = true;
    if (ml_of != NULL)
        ml_of->fails = 0;
    memset(c->away, 0, sizeof(c->away));
    mv_heal(w);
    if (c->targets)
        cn_define(c, 7);
    if (c->discovers)
        cn_tell_name(c, 7);
    for (unsigned i = 0; i < (c->windows ? 14400 : 1800) && w->r->why[0] == '\0' && !cn_all_final(c); i++)
        pr_run(w->r, 1000);
    mv_judge(w);
    cn_judge(c);
    cr_judge(&c->readers, w);
    if (mode == BODIES) {
        pr_run(w->r, 80000); /* what nobody says any more is given up */
        ml_look(w, true);
        sum[5] += w->uploads;
        sum[6] += w->again_uploads;
        sum[7] += ml_of->calls;
        sum[8] += ml_of->moves;
        sum[9] += ml_of->failed;
    }
    good = w->r->why[0] == '\0';
    if (!good)
        fprintf(stderr, "seed %lu%s%s%s: %s (SEED=%lu sim_call_nodes)\n", seed, shared ? ", shared" : "",
                c->discovers ? ", names" : c->targets ? ", targets" : "", c->units ? ", units" : c->windows ? ", windows" : "", w->r->why, seed);
    sum[0] += w->n_tasks;
    sum[1] += c->n_visits;
    sum[2] += w->kills;
    sum[3] += c->moved;
    sum[5] += c->readers.wholes;
    sum[6] += c->readers.broken;
    sum[9] += c->readers.along_wholes;
    sum[10] += c->readers.along_broken;
    sum[7] += c->affine;
    sum[8] += c->astray;
    for (unsigned i = 0; i < PR_NOS; i++)
        for (unsigned k = 1; k < 200; k++)
            sum[4] += w->owner[i][k] != 0 && k > 1;
    cn_free(c);
    return good;
}

/* Only operators do something: no call is made twice, none is left over, and the endpoint never stands. */
static bool run_calm(uint64_t seed, bool shared, bool targets, uint64_t sum[11])
{
    struct cn *c = cn_new(seed, shared);
    struct mv *w = c->w;
    bool good;

    c->targets = targets;
    c->affinity = w->keys = targets && seed % 2 == 0;
    c->calm = true;
    if (targets)
        cn_define(c, 0);
    c->well = true;
    c->mood = rng_chance(&w->r->rng, 0.5) ? SLOW : WELL;
    for (int i = 0; i < PR_NODES; i++)
        pr_node_run(w->r, i, i < 2 || rng_chance(&w->r->rng, 0.5));
    for (unsigned i = 0; i < STEPS && w->r->why[0] == '\0'; i++) {
        mv_drain(w, (int)rng_below(&w->r->rng, 2), rng_chance(&w->r->rng, 0.5));
        cn_change_targets(c);
        pr_run(w->r, 100 * (1 + rng_below(&w->r->rng, 20)));
    }
    mv_heal(w);
    if (targets)
        cn_define(c, 7);
    for (unsigned i = 0; i < (targets ? 400 : 120) && w->r->why[0] == '\0' && !cn_all_final(c); i++)
        pr_run(w->r, 1000);
    mv_judge(w);
    cn_judge(c);
    for (unsigned k = 1; k < c->n_starts; k++)
        if (c->start[k] - c->start[k - 1] > 2 * CN_DEADLINE && k < MV_TASKS / 2)
            MV_BAD(w, "the endpoint stands for %ld ms", (long)(c->start[k] - c->start[k - 1]));
    if (c->n_visits != w->n_tasks)
        MV_BAD(w, "%u tasks, %u calls", w->n_tasks, c->n_visits);
    good = w->r->why[0] == '\0';
    if (!good)
        fprintf(stderr, "calm seed %lu%s%s: %s (SEED=%lu sim_call_nodes)\n", seed, shared ? ", shared" : "",
                targets ? ", targets" : "", w->r->why, seed);
    for (unsigned i = 0; i < PR_NOS; i++)
        for (unsigned k = 1; k < 200; k++)
            sum[4] += w->owner[i][k] != 0 && k > 1;
    sum[0] += w->n_tasks;
    sum[1] += c->n_visits;
    sum[9] += c->readers.along_wholes;
    sum[10] += c->readers.along_broken;
    sum[7] += c->affine;
    sum[8] += c->astray;
    cn_free(c);
    return good;
}

/* Seeds that found something, with what it was. */
static const uint64_t kept[] = {
    5,   /* a call whose partition had left took no slot of its node any more */
    180, /* the same, of a call that the node knew only by its journal */
    478, /* a start gave bodies of half a copy back that nobody had counted: files could go early */
};

static void shard(unsigned from, bool shared)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1);
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS), bad = 0, sum[11] = { 0 };

    if (only == 0)
        quiet_log();
    for (size_t i = from; only == 0 && !shared && i < ARRAY_LEN(kept); i += SHARDS)
        bad += !run(kept[i], shared, CALLS, sum);
    for (uint64_t i = from; i < n; i += SHARDS)
        bad += !run(first + i, shared, (first + i) % 2 == 0 ? READS : CALLS, sum);
    printf("%lu tasks, %lu calls, %lu kills, %lu answers behind a move, %lu later epochs, of answers that "
           "were heard as they came %lu whole, %lu broken (along %lu, %lu)\n", sum[0], sum[1], sum[2], sum[3],
           sum[4], sum[5], sum[6], sum[9], sum[10]);
    cr_assert_eq(bad, 0);
}

Test(sim_call_nodes, drains_make_no_call_twice)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1), sum[11] = { 0 };
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS) / 4, bad = 0;

    if (only == 0)
        quiet_log();
    for (uint64_t i = 0; i < n; i++)
        bad += !run_calm(first + i, i % 2 == 0, false, sum) + !run_calm(first + i, i % 2 != 0, false, sum) +
               !run_calm(first + i, i % 2 == 0, true, sum);
    printf("%lu tasks, %lu calls, %lu later epochs, %lu calls at the target of their key, %lu elsewhere\n",
           sum[0], sum[1], sum[4], sum[7], sum[8]);
    cr_expect(sum[7] > sum[8] || only != 0, "by affinity");
    cr_assert_eq(bad, 0);
}

/* ---- slots are in use ------------------------------------------------------------------------ */

static void use_slots(struct cn *c, bool paused)
{
    struct err e = { 0 };
    char json[500];

    snprintf(json, sizeof(json),
             "{\"name\": \"e\", \"url\": \"http://a/\", \"max_concurrent\": %d, \"rate_per_s\": %d, \"burst\": %d, "
             "\"deadline\": \"%dms\", \"connect_timeout\": \"1s\", \"paused\": %s%s}",
             CN_SLOTS, CN_RATE, CN_BURST, CN_DEADLINE, paused ? "true" : "false",
             c->provides > 0 ? ", \"remaining\": [{\"header\": \"left\", \"reset\": \"reset\"}]" : "");
    if (pr_endpoint(c->w->r, json, &e) < 0)
        MV_BAD(c->w, "%s", e.text);
}

static unsigned unfinished(const struct cn *c)
{
    unsigned n = 0;

    for (unsigned id = 0; id < c->w->n_tasks; id++)
        n += !c->final[id];
    return n;
}

static unsigned in_use(const struct cn *c)
{
    unsigned n = 0;

    for (unsigned k = c->first; k < c->n_visits; k++)
        n += !c->visit[k].over;
    return n;
}

struct use {
    unsigned percent, slow_ms; /* the longest time for which more than one was free, although tasks waited */
};

/* Tasks pile up behind a pause at two nodes, one of which has more of them; behind the ramp slots are in use, up
 * to the last tasks. */
static struct use run_backlog(uint64_t seed)
{
    struct use u = { 0 };
    msec_t slow = 0;
    struct cn *c = cn_new(seed, false);
    struct mv *w = c->w;
    uint64_t used = 0, had = 0;

    c->well = c->calm = true;
    c->mood = SLOW;
    for (int i = 0; i < PR_NODES; i++)
        pr_node_run(w->r, i, i < 2);
    use_slots(c, true);
    for (unsigned i = 0; i < 400 && w->n_tasks < 300 && w->r->why[0] == '\0'; i++)
        pr_run(w->r, 1000);
    w->quiet = true;
    use_slots(c, false);
    pr_run(w->r, 10000);
    while (unfinished(c) > CN_SLOTS && w->r->why[0] == '\0') {
        pr_run(w->r, 100);
        used += in_use(c);
        had += CN_SLOTS;
        slow = in_use(c) + 1 < CN_SLOTS && unfinished(c) >= 2 * CN_SLOTS ? slow + 100 : 0;
        u.slow_ms = slow > u.slow_ms ? (unsigned)slow : u.slow_ms;
        if (getenv("SEED") != NULL)
            printf("%lu: %u of %u, %u left; shares %lu %lu\n", w->r->now, in_use(c), CN_SLOTS, unfinished(c),
                   endpoints_find(&c->calls[0].endpoints, "e")->def.max_concurrent, endpoints_find(&c->calls[1].endpoints, "e")->def.max_concurrent);
    }
    if (w->r->why[0] != '\0')
        fprintf(stderr, "backlog seed %lu: %s\n", seed, w->r->why);
    cn_free(c);
    u.percent = had != 0 ? (unsigned)(100 * used / had) : 0;
    return u;
}

Test(sim_call_nodes, a_backlog_uses_all_slots)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1), sum = 0;
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS) / 10;
    unsigned least = 100, slow = 0;

    if (only == 0)
        quiet_log();
    for (uint64_t i = 0; i < n; i++) {
        struct use u = run_backlog(first + i);

        sum += u.percent;
        least = u.percent < least ? u.percent : least;
        slow = u.slow_ms > slow ? u.slow_ms : slow;
    }
    printf("%lu percent of slots in use, at least %u; for %u ms some were free\n", n > 0 ? sum / n : 0, least, slow);
    cr_expect(n == 0 || (sum / n >= 95 && slow <= 1000));
}

/* Tasks pile up behind a pause, and a provider lets fewer begin than rate and slots do; it says so in its answers.
 * Returns the part of what it provides that was used, in percent. */
static unsigned run_provider(uint64_t seed, uint64_t *refusals)
{
    struct cn *c = cn_new(seed, false);
    struct mv *w = c->w;
    unsigned percent;
    msec_t from;

    c->well = c->calm = true;
    c->mood = seed % 2 == 0 ? SLOW : WELL;
    c->provides = 10 + (unsigned)(seed % 30);
    for (int i = 0; i < PR_NODES; i++)
        pr_node_run(w->r, i, i < 2 || seed % 3 == 0);
    use_slots(c, true);
    for (unsigned i = 0; i < 400 && w->n_tasks < 300 && w->r->why[0] == '\0'; i++)
        pr_run(w->r, 1000);
    w->quiet = true;
    use_slots(c, false);
    pr_run(w->r, 2 * CN_WINDOW);
    from = w->r->now;
    c->answered = 0;
    for (unsigned i = 0; i < 10 && unfinished(c) > 4 * CN_SLOTS && w->r->why[0] == '\0'; i++)
        pr_run(w->r, CN_WINDOW);
    percent = w->r->now > from ? (unsigned)(100 * CN_WINDOW * c->answered / ((uint64_t)(w->r->now - from) * c->provides)) : 100;
    *refusals += c->refusals;
    if (w->r->why[0] != '\0' || getenv("SEED") != NULL)
        fprintf(stderr, "provider seed %lu: %s: %u of %u, %lu refusals\n", seed, w->r->why, percent, c->provides, c->refusals);
    percent = w->r->why[0] != '\0' ? 0 : percent;
    cn_free(c);
    return percent;
}

Test(sim_call_nodes, what_a_provider_says_is_left_is_kept)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1), sum = 0, refusals = 0, bad = 0;
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS) / 4;
    unsigned least = 100;

    if (only == 0)
        quiet_log();
    for (uint64_t i = 0; i < n; i++) {
        unsigned percent = run_provider(first + i, &refusals);

        bad += percent == 0;
        sum += percent;
        least = percent < least ? percent : least;
    }
    printf("provider: %lu percent of what it provides is used, at least %u; %lu refusals\n", n > 0 ? sum / n : 0, least,
           refusals);
    cr_assert_eq(bad, 0);
    cr_expect(n == 0 || sum / n >= 60);
    cr_expect(refusals <= 3 * n, "nodes count what has begun, and each has its part");
}

/* Several targets: some die, or all, and the list changes amid calls; or they are the addresses of a name, of which
 * the manager, and the one after it, is told now these and now those. */
static void targets(unsigned from, enum mode mode)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1), bad = 0, sum[11] = { 0 };
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS);

    if (only == 0)
        quiet_log();
    for (uint64_t i = from; i < n; i += 2)
        bad += !run(first + i, (first + i) % 4 < 2, mode, sum); /* as SEED has it, too */
    printf("targets: %lu tasks, %lu calls, %lu kills, %lu answers behind a move, %lu later epochs, %lu calls at the "
           "target of their key, %lu elsewhere\n", sum[0], sum[1], sum[2], sum[3], sum[4], sum[7], sum[8]);
    cr_assert_eq(bad, 0);
}

/* Rates in units, and calls of more than a burst, with targets in every second seed. */
static void units(unsigned from)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1), bad = 0, sum[11] = { 0 };
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS);

    if (only == 0)
        quiet_log();
    for (uint64_t i = from; i < n; i += 2)
        bad += !run(first + i, (first + i) % 4 < 2, UNITS, sum);
    printf("units: %lu tasks, %lu calls, %lu kills, %lu later epochs\n", sum[0], sum[1], sum[2], sum[4]);
    cr_assert_eq(bad, 0);
}

/* Calls with large bodies, over real folders that are full, or fail, in some of the seeds. */
static void bodies(unsigned from)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1), bad = 0, sum[11] = { 0 };
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS) / 4;

    if (only == 0)
        quiet_log();
    for (uint64_t i = from; i < n; i += 2)
        bad += !run(first + i, false, BODIES, sum);
    printf("large bodies: %lu tasks, %lu kills, %lu answers behind a move, %lu later epochs; %lu bodies came, %lu were "
           "given up amid it, %lu tries had one, %lu pieces moved, the disk failed %lu times\n", sum[0], sum[2], sum[3],
           sum[4], sum[5], sum[6], sum[7], sum[8], sum[9]);
    cr_assert_eq(bad, 0);
}

Test(sim_call_nodes, bodies_1)
{
    bodies(0);
}

Test(sim_call_nodes, bodies_2)
{
    bodies(1);
}

Test(sim_call_nodes, units_1)
{
    units(0);
}

Test(sim_call_nodes, units_2)
{
    units(1);
}

/* Windows of the calendar, and calls of more than one has, over a quarter of an hour of kills, moves and other
 * managers, with targets in every second seed; in every third one window is a budget's. */
Test(sim_call_nodes, calendar_windows)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1), bad = 0, sum[11] = { 0 };
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS) / 4;

    if (only == 0)
        quiet_log();
    for (uint64_t i = 0; i < n; i++)
        bad += !run(first + i, (first + i) % 4 < 2, WINDOWS, sum);
    printf("windows: %lu tasks, %lu calls, %lu kills, %lu later epochs\n", sum[0], sum[1], sum[2], sum[4]);
    cr_assert_eq(bad, 0);
}

Test(sim_call_nodes, targets_1)
{
    targets(0, TARGETS);
}

Test(sim_call_nodes, targets_2)
{
    targets(1, TARGETS);
}

Test(sim_call_nodes, names_1)
{
    targets(0, NAMES);
}

Test(sim_call_nodes, names_2)
{
    targets(1, NAMES);
}

Test(sim_call_nodes, seeds_1)
{
    shard(0, false);
}

Test(sim_call_nodes, seeds_2)
{
    shard(1, false);
}

Test(sim_call_nodes, seeds_3)
{
    shard(2, false);
}

Test(sim_call_nodes, seeds_4)
{
    shard(3, false);
}

Test(sim_call_nodes, shared_1)
{
    shard(0, true);
}

Test(sim_call_nodes, shared_2)
{
    shard(1, true);
}
