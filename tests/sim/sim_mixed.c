/* sim_mixed.c: swarm testing. Each seed draws a cluster, a crowd, and which faults come
 * how often (some not at all, so that rare combinations get room).
 *   FIRST=1 SEEDS=1000 sim_mixed      these seeds, after those of seeds.txt
 *   SEED=n sim_mixed                  one, with its trace if it fails
 * Last line: "sim_mixed: N seeds passed, M failed". */
#include "tests/lib/sim.h"

#include "common/rng.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHOWN_MAX 5 /* failures whose trace is printed */

static double often(struct rng *r, double share, double max)
{
    return rng_chance(r, share) ? max * rng_unit(r) : 0;
}

static void draw_faults(struct rng *r, struct sim_faults *f)
{
    if (rng_chance(r, 0.15))
        return; /* a calm day */
    f->link_break = often(r, 0.5, 40);
    f->link_cut = often(r, 0.3, 8);
    f->slow_link = often(r, 0.3, 15);
    f->pause = often(r, 0.4, 15);
    f->router_restart = often(r, 0.3, 8);
    f->mng_restart = often(r, 0.35, 6);
    f->drain = often(r, 0.4, 6);
    f->queue_pause = often(r, 0.2, 4);
    f->queue_close = often(r, 0.15, 2);
    f->queue_put = often(r, 0.3, 5);
    f->release_by_hand = often(r, 0.3, 8);
    f->add_node = often(r, 0.15, 1);
}

/* Much leaving, much draining, links that make every fence last: moves meet everything. */
static void draw_moving_day(struct rng *r, struct sim_opts *o)
{
    o->segs = 2 + (unsigned)rng_below(r, 4);
    o->no_merge = false;
    o->capacity = 10 + (uint32_t)rng_below(r, 50);
    o->release_per_s = 1 + 2 * rng_unit(r);
    o->leave_share = 0.3 + 0.5 * rng_unit(r);
    o->vanish_share = o->late_share = 0;
    o->faults.drain = 10 + 20 * rng_unit(r);
    o->faults.slow_link = 60 * rng_unit(r);
    o->faults.mng_restart /= 2;
}

static struct sim_opts draw(struct rng *r, uint64_t seed)
{
    struct sim_opts o = { .seed = seed };

    o.segs = 1 + (unsigned)rng_below(r, 5);
    o.routers = 1 + (unsigned)rng_below(r, 3);
    o.queues = rng_chance(r, 0.3) ? 2 : 1;
    o.lanes = rng_chance(r, 0.3) ? 2 : 1;
    o.capacity = rng_chance(r, 0.6) ? 50 : 3 + (uint32_t)rng_below(r, 120);
    o.open_next_at = 0.3 + 0.7 * rng_unit(r);
    o.release_per_s = 0.5 + 6 * rng_unit(r);
    o.no_merge = rng_chance(r, 0.15);
    o.idle_ms = 8000 + (msec_t)rng_below(r, 25000);
    o.claim_ms = 4000 + (msec_t)rng_below(r, 8000);
    o.grace_ms = (msec_t)rng_below(r, 15000);
    o.pass_ttl_ms = 20000 + (msec_t)rng_below(r, 30000);
    o.poll_min_ms = 300 + (msec_t)rng_below(r, 500);
    o.poll_max_ms = 1000 + (msec_t)rng_below(r, 2500);
    o.leave_share = often(r, 0.7, 0.7);
    o.vanish_share = often(r, 0.5, 0.3);
    o.late_share = often(r, 0.5, 0.3);
    if (o.leave_share + o.vanish_share + o.late_share > 1)
        o.late_share = 0;
    o.session_leave_share = rng_unit(r);
    draw_faults(r, &o.faults);
    if (rng_chance(r, 0.25))
        draw_moving_day(r, &o);
    return o;
}

/* Every fourth seed is a crowd: long chains, many moves. (Which fourth: one in which none
 * of the seeds kept in seeds.txt is, so that they go on meaning what they meant.) */
#define CROWDS 0x0152u

/* Another fourth: segment nodes are killed, and restarted with their journals. */
#define KILLS 0xa012u

static double draw_kills(uint64_t seed)
{
    struct rng r;

    rng_seed(&r, seed * 40503u + 7);
    return KILLS & (1u << seed % 16) ? 20 * rng_unit(&r) : 0;
}

/* And some lose memory and journal: their people bring everything back. */
#define LOSSES 0x2140u

static void draw_losses(uint64_t seed, struct sim_opts *o)
{
    struct rng r;

    rng_seed(&r, seed * 69069u + 3);
    if (!(LOSSES & (1u << seed % 16)))
        return;
    o->faults.seg_lose = 6 * rng_unit(&r);
    o->lost_after_ms = 9000 + (msec_t)rng_below(&r, 6000);
    o->late_share = 0; /* who was given up already may come back then, and is in the way */
}

static struct sim *run(uint64_t seed)
{
    struct rng r;
    struct sim_opts o;
    struct sim *s;
    unsigned n;

    rng_seed(&r, seed * 2654435761u + 1);
    o = draw(&r, seed);
    o.faults.seg_kill = draw_kills(seed);
    draw_losses(seed, &o);
    s = sim_new(&o);
    n = 40 + (unsigned)rng_below(&r, 160);
    if (CROWDS & (1u << seed % 16))
        n *= 6;
    for (unsigned q = 0; q < o.queues; q++)
        for (unsigned l = 0; l < o.lanes; l++)
            sim_join(s, q, l, n / (o.queues * o.lanes),
                     rng_chance(&r, 0.3) ? 500 : 1000 + (msec_t)rng_below(&r, 25000));
    sim_run(s, 15000 + (msec_t)rng_below(&r, 30000));
    sim_heal(s, 40 + 100 * rng_unit(&r));
    sim_run(s, 9000);
    if (rng_chance(&r, 0.5))
        sim_check_positions(s);
    (void)sim_run_until_quiet(s, 120000);
    return s;
}

struct result {
    unsigned passed, failed;
    struct sim_counts sum;
    uint64_t moves;
};

static void add(struct result *x, const struct sim *s)
{
    struct sim_counts c = sim_count(s);

    x->sum.steps += c.steps;
    x->sum.messages += c.messages;
    x->sum.joined += c.joined;
    x->sum.admitted += c.admitted;
    x->sum.relaxed += c.relaxed;
    x->sum.links_broken += c.links_broken;
    x->sum.restarts += c.restarts;
    x->sum.crashes += c.crashes;
    x->sum.unavailable += c.unavailable;
    x->moves += sim_mng_count(s).moves_committed;
}

static void one(struct result *x, uint64_t seed)
{
    struct sim *s = run(seed);

    if (sim_ok(s)) {
        x->passed++;
    } else {
        if (x->failed++ < SHOWN_MAX)
            sim_report(s, stderr, "sim_mixed");
        printf("sim_mixed: seed %llu FAILED: %s\n", (unsigned long long)seed, sim_why(s));
    }
    add(x, s);
    sim_free(s);
}

/* Seeds that once failed, one a line; "#" begins a comment. */
static void replay_old(struct result *x, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[256];

    if (f == NULL)
        return;
    while (fgets(line, sizeof(line), f) != NULL)
        if (strtoull(line, NULL, 10) != 0)
            one(x, strtoull(line, NULL, 10));
    fclose(f);
}

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

int main(void)
{
    const char *old = getenv("SEEDS_FILE");
    uint64_t first = env("FIRST", 1), n = env("SEEDS", 1000), seed = env("SEED", 0);
    struct result x = { 0 };
    clock_t t0 = clock();

    if (seed != 0) {
        one(&x, seed);
        n = 0;
    } else {
        replay_old(&x, old != NULL ? old : "tests/sim/seeds.txt");
    }
    for (uint64_t i = 0; i < n; i++) {
        one(&x, first + i);
        if ((i + 1) % 100 == 0) {
            printf("... %llu seeds, %u failed, %.1f s\n", (unsigned long long)i + 1,
                   x.failed, (double)(clock() - t0) / CLOCKS_PER_SEC);
            fflush(stdout);
        }
    }
    printf("%llu steps, %llu messages, %llu joined, %llu admitted, %llu moves, %llu links "
           "broken, %llu restarts, %llu kills, %llu answers 503, %llu joins of uncertain order, %.1f s\n",
           (unsigned long long)x.sum.steps, (unsigned long long)x.sum.messages,
           (unsigned long long)x.sum.joined, (unsigned long long)x.sum.admitted,
           (unsigned long long)x.moves, (unsigned long long)x.sum.links_broken,
           (unsigned long long)x.sum.restarts, (unsigned long long)x.sum.crashes,
           (unsigned long long)x.sum.unavailable,
           (unsigned long long)x.sum.relaxed, (double)(clock() - t0) / CLOCKS_PER_SEC);
    printf("sim_mixed: %u seeds passed, %u failed\n", x.passed, x.failed);
    return x.failed != 0;
}
