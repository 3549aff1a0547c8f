/* plan.c: drawing a plan, changing it by name, running it. The draws of a kind that came
 * later have a generator of their own: seeds go on meaning what they meant. */
#include "tests/lib/sim/plan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"

/* ---- knobs --------------------------------------------------------------------------- */

#define FAULT(name) { #name, KNOB_DOUBLE, offsetof(struct sim_plan, o.faults.name), true }
#define SHARE(name) { #name, KNOB_DOUBLE, offsetof(struct sim_plan, o.name), true }
#define OPT(name, kind) { #name, kind, offsetof(struct sim_plan, o.name), false }
#define PLAN(name, kind) { #name, kind, offsetof(struct sim_plan, name), false }

const struct knob plan_knobs[] = {
    FAULT(link_break), FAULT(link_cut), FAULT(slow_link), FAULT(pause),
    FAULT(router_restart), FAULT(mng_restart), FAULT(seg_lose), FAULT(seg_kill),
    FAULT(drain), FAULT(queue_pause), FAULT(queue_close), FAULT(queue_put),
    FAULT(release_by_hand), FAULT(add_node), FAULT(store_away), FAULT(store_slow),
    FAULT(store_forget), FAULT(store_failover), FAULT(clock_jump),
    FAULT(link_oneway), FAULT(slow_proc), FAULT(storm), FAULT(disk_full), FAULT(disk_slow),
    FAULT(queue_passthrough), FAULT(queue_reject), FAULT(queue_patch), FAULT(drain_all),
    FAULT(routers_gone), FAULT(forget),
    SHARE(leave_share), SHARE(vanish_share), SHARE(late_share), SHARE(session_leave_share),
    OPT(opens_ms, KNOB_MS), OPT(prequeue_ms, KNOB_MS), OPT(prequeue_capacity, KNOB_U32),
    SHARE(command_share), SHARE(contact_share), OPT(soon_ms, KNOB_MS), OPT(session_max_ms, KNOB_MS),
    OPT(queues, KNOB_U32), OPT(lanes, KNOB_U32), OPT(routers, KNOB_U32),
    OPT(segs, KNOB_U32), OPT(managers, KNOB_U32), OPT(capacity, KNOB_U32), OPT(open_next_at, KNOB_DOUBLE),
    OPT(release_per_s, KNOB_DOUBLE), OPT(max_active, KNOB_U32), OPT(slots_only, KNOB_U32),
    OPT(no_show_boost, KNOB_DOUBLE), OPT(away_ms, KNOB_MS), SHARE(subject_share), SHARE(replace_share),
    OPT(fresh_ms, KNOB_MS), OPT(keep_ms, KNOB_MS), SHARE(listen_share), OPT(ocean_ms, KNOB_DOUBLE), OPT(idle_ms, KNOB_MS),
    OPT(claim_ms, KNOB_MS), OPT(portion, KNOB_U32),
    OPT(grace_ms, KNOB_MS), OPT(pass_ttl_ms, KNOB_MS), OPT(lost_after_ms, KNOB_MS),
    OPT(seed, KNOB_U64),
    PLAN(players, KNOB_U32), PLAN(run_ms, KNOB_MS), PLAN(positions, KNOB_U32),
};
const size_t plan_n_knobs = ARRAY_LEN(plan_knobs);

double knob_get(const struct sim_plan *p, const struct knob *k)
{
    const void *at = (const char *)p + k->at;

    switch (k->kind) {
    case KNOB_DOUBLE:
        return *(const double *)at;
    case KNOB_U32:
        return *(const uint32_t *)at;
    case KNOB_MS:
        return (double)*(const msec_t *)at;
    case KNOB_U64:
        return (double)*(const uint64_t *)at;
    }
    return 0;
}

void knob_set(struct sim_plan *p, const struct knob *k, double v)
{
    void *at = (char *)p + k->at;

    if (k->kind == KNOB_DOUBLE)
        *(double *)at = v;
    else if (k->kind == KNOB_U32)
        *(uint32_t *)at = (uint32_t)v;
    else if (k->kind == KNOB_MS)
        *(msec_t *)at = (msec_t)v;
    else
        *(uint64_t *)at = (uint64_t)v;
}

static const struct knob *knob_named(const char *name, size_t len)
{
    for (size_t i = 0; i < plan_n_knobs; i++)
        if (strlen(plan_knobs[i].name) == len && memcmp(plan_knobs[i].name, name, len) == 0)
            return &plan_knobs[i];
    return NULL;
}

bool plan_change(struct sim_plan *p, const char *text, const char **bad)
{
    for (const char *at = text; *(at += strspn(at, " ")) != 0; at += strcspn(at, " ")) {
        size_t len = strcspn(at, "= ");
        const struct knob *k = knob_named(at, len);

        if (k == NULL || at[len] != '=') {
            *bad = at;
            return false;
        }
        knob_set(p, k, strtod(at + len + 1, NULL));
    }
    return true;
}

void plan_print(const struct sim_plan *was, const struct sim_plan *p, char *out, size_t cap)
{
    size_t n = 0;

    out[0] = 0;
    for (size_t i = 0; i < plan_n_knobs && n < cap; i++) {
        const struct knob *k = &plan_knobs[i];

        if (knob_get(was, k) != knob_get(p, k))
            n += (size_t)snprintf(out + n, cap - n, "%s%s=%.9g", n > 0 ? " " : "", k->name,
                                  knob_get(p, k));
    }
}

/* ---- drawing ------------------------------------------------------------------------- */

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

/* In some all nodes are drained at once, for a while: tails fill up, and nobody has room. */
static void draw_drains(uint64_t seed, struct sim_opts *o)
{
    struct rng r;

    rng_seed(&r, seed * 48271u + 5);
    if (seed % 13 != 1)
        return;
    o->faults.drain_all = 2 + 3 * rng_unit(&r);
    o->capacity = 3 + (uint32_t)rng_below(&r, 10);
    o->release_per_s *= 3; /* and the line runs dry meanwhile */
    o->faults.forget = 30 * rng_unit(&r);
}

/* Some have several managers, whose store has its own days. One that forgets while the only
 * manager with an exact copy is away has forgotten: those two do not meet. */
static void draw_managers(uint64_t seed, struct sim_opts *o)
{
    struct sim_faults *f = &o->faults;
    struct rng r;

    rng_seed(&r, seed * 22695477u + 11);
    if (seed % 7 != 1 && seed % 11 != 6)
        return;
    o->managers = 2 + (unsigned)rng_below(&r, 2);
    f->store_slow = often(&r, 0.4, 8);
    if (rng_chance(&r, 0.15)) {
        f->store_forget = 2 * rng_unit(&r);
        f->mng_restart = f->pause = f->store_slow = 0;
        return;
    }
    f->mng_restart = often(&r, 0.6, 8);
    f->store_away = often(&r, 0.4, 6);
    f->store_failover = often(&r, 0.4, 6);
}

/* Kinds that came later yet: in some of the seeds, where none of seeds.txt is. */
#define LATER 0x018bu

static double later(uint64_t seed, uint64_t kind, double share, double max)
{
    struct rng r;

    rng_seed(&r, seed * 1103515245u + 101 * kind + 13);
    return LATER & (1u << seed % 13) ? often(&r, share, max) : 0;
}

/* Passes are brought back by their stamps after a loss: their lives are off by a jump, so
 * that who was released and had not heard of it may find it over. */
static void draw_clocks(uint64_t seed, struct sim_faults *f)
{
    f->clock_jump = f->seg_lose > 0 ? 0 : later(seed, 1, 0.5, 20);
}

/* Some let in by slots. By hand one may let in more: not here. */
#define SLOTS 0x2108u

static void draw_slots(uint64_t seed, struct sim_opts *o)
{
    struct rng r;

    rng_seed(&r, seed * 134775813u + 17);
    if (!(SLOTS & (1u << seed % 17)))
        return;
    o->max_active = 1 + (uint32_t)rng_below(&r, 40);
    o->slots_only = rng_chance(&r, 0.6);
    o->faults.release_by_hand = 0;
}

/* In some people come under names. */
#define SUBJECTS 0x88c9u

static void draw_subjects(uint64_t seed, struct sim_opts *o)
{
    struct rng r;

    rng_seed(&r, seed * 2891336453u + 19);
    o->subject_share = SUBJECTS & (1u << seed % 19) ? 0.3 + 0.7 * rng_unit(&r) : 0;
}

/* In some people take places in other lanes by claims. */
#define CLAIMS 0x00103081u

static void draw_claims(uint64_t seed, struct sim_opts *o)
{
    struct rng r;

    rng_seed(&r, seed * 1181783497u + 37);
    if (!(CLAIMS & (1u << seed % 23)))
        return;
    o->replace_share = 0.1 + 0.7 * rng_unit(&r);
    o->lanes += 1 + (unsigned)rng_below(&r, 2);
}

/* In some people listen in place of polling. */
#define LISTENERS 0x00012489u

static void draw_listeners(uint64_t seed, struct sim_opts *o)
{
    struct rng r;

    rng_seed(&r, seed * 2246822519u + 41);
    if (LISTENERS & (1u << seed % 17))
        o->listen_share = 0.2 + 0.8 * rng_unit(&r);
}

/* In some backends extend, revoke and release. */
#define COMMANDS 0x000003aau

static void draw_commands(uint64_t seed, struct sim_opts *o)
{
    struct rng r;

    rng_seed(&r, seed * 1597334677u + 23);
    if (!(COMMANDS & (1u << seed % 29)) || o->faults.clock_jump > 0)
        return;
    o->command_share = 0.1 + 0.6 * rng_unit(&r);
    if (rng_chance(&r, 0.8))
        o->session_max_ms = o->pass_ttl_ms + (msec_t)rng_below(&r, 40000);
}

/* Some queues open by the clock: of the leader, so it does not leap. A store that forgets
 * may forget the seed that was promised. */
#define OPENINGS 0x000001acu

static void draw_opening(uint64_t seed, struct sim_plan *p)
{
    struct sim_opts *o = &p->o;
    uint32_t least;
    struct rng r;

    rng_seed(&r, seed * 3266489917u + 29);
    if (!(OPENINGS & (1u << seed % 31)) || o->faults.clock_jump > 0 ||
        o->faults.store_forget > 0)
        return;
    o->opens_ms = 4000 + (msec_t)rng_below(&r, (uint64_t)p->run_ms - 4000);
    o->prequeue_ms = rng_chance(&r, 0.9) ? 1 + (msec_t)rng_below(&r, 30000) : 0;
    o->prequeue_capacity = rng_chance(&r, 0.5) ? 3 + (uint32_t)rng_below(&r, 60) : 1000;
    least = 3 + p->players * o->lanes / 25; /* so that all draws are listed */
    if (o->prequeue_capacity < least)
        o->prequeue_capacity = least;
    o->faults.release_by_hand = 0; /* who is let in by hand may be let in before */
}

/* The latest kinds of faults. */
#define NEWS 0x00083483u

static void draw_news(uint64_t seed, struct sim_faults *f)
{
    struct rng r;

    rng_seed(&r, seed * 374761393u + 31);
    if (!(NEWS & (1u << seed % 23)))
        return;
    f->link_oneway = often(&r, 0.3, 10);
    f->slow_proc = often(&r, 0.25, 6);
    f->storm = f->store_forget > 0 ? 0 : often(&r, 0.25, 3);
    f->disk_full = often(&r, 0.2, 4);
    f->disk_slow = often(&r, 0.2, 6);
    f->queue_passthrough = often(&r, 0.15, 2);
    f->queue_reject = often(&r, 0.15, 2);
    f->queue_patch = often(&r, 0.3, 6);
    f->routers_gone = often(&r, 0.2, 3);
}

/* In some whatever a segment node says, copies or forgets in portions goes in small ones. */
#define PORTIONS 0x366164edc7ce6ull

static void draw_portion(uint64_t seed, struct sim_opts *o)
{
    static const uint32_t some[] = { 1, 2, 3, 7, 50 };
    struct rng r;

    rng_seed(&r, seed * 3935559000370003845u + 43);
    if (PORTIONS & (1ull << seed % 53))
        o->portion = some[rng_below(&r, ARRAY_LEN(some))];
}

void plan_draw(struct sim_plan *p, uint64_t seed)
{
    struct rng r;

    memset(p, 0, sizeof(*p));
    rng_seed(&r, seed * 2654435761u + 1);
    p->o = draw(&r, seed);
    p->o.faults.seg_kill = draw_kills(seed);
    draw_losses(seed, &p->o);
    draw_drains(seed, &p->o);
    draw_managers(seed, &p->o);
    draw_clocks(seed, &p->o.faults);
    draw_slots(seed, &p->o);
    p->o.away_ms = later(seed, 3, 0.6, 1) > 0 ? 2000 : 0;
    p->o.no_show_boost = 1 + later(seed, 2, 0.6, 1);
    draw_subjects(seed, &p->o);
    draw_claims(seed, &p->o);
    draw_commands(seed, &p->o);
    draw_listeners(seed, &p->o);
    draw_portion(seed, &p->o);
    p->players = 40 + (uint32_t)rng_below(&r, 160);
    if (CROWDS & (1u << seed % 16))
        p->players *= 6;
    p->players /= p->o.queues * p->o.lanes;
    for (unsigned i = 0; i < p->o.queues * p->o.lanes; i++)
        p->over_ms[i] = rng_chance(&r, 0.3) ? 500 : 1000 + (msec_t)rng_below(&r, 25000);
    p->run_ms = 15000 + (msec_t)rng_below(&r, 30000);
    p->heal_per_s = 40 + 100 * rng_unit(&r);
    p->positions = rng_chance(&r, 0.5);
    draw_opening(seed, p);
    draw_news(seed, &p->o.faults);
}

/* ---- running ------------------------------------------------------------------------- */

/* Nothing in it makes a node show what it heard long ago; and not so many that it takes long. */
static bool may_compare(const struct sim_plan *p)
{
    const struct sim_faults *f = &p->o.faults;

    return p->players <= 400 && f->link_cut <= 0 && f->link_oneway <= 0 && f->slow_link <= 0 &&
           f->pause <= 0 && f->slow_proc <= 0 && f->disk_slow <= 0 && f->disk_full <= 0 &&
           f->seg_lose <= 0 && f->store_away <= 0 && f->store_slow <= 0;
}

struct sim *plan_run(const struct sim_plan *p)
{
    struct sim_opts o = p->o;
    struct sim *s;

    o.told = may_compare(p);
    s = sim_new(&o);
    for (unsigned q = 0; q < p->o.queues; q++)
        for (unsigned l = 0; l < p->o.lanes; l++)
            sim_join(s, q, l, p->players, p->over_ms[q * p->o.lanes + l]);
    sim_run(s, p->run_ms);
    sim_heal(s, p->heal_per_s);
    sim_run(s, 9000);
    if (p->positions)
        sim_check_positions(s);
    (void)sim_run_until_quiet(s, 120000);
    return s;
}
