/* fault_processes.c: faults of processes: stopped, killed, robbed of their disk. */
#include "tests/lib/sim/state.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/tape.h"

/* Silent for longer than three heartbeats: the others close the connection. */
static void pause_proc(struct sim *s, struct proc *p, double ms)
{
    if (!p->alive || p->paused_until > s->now)
        return;
    sim_note(s, "process %lu is stopped for %lu ms", p->idx, (uint64_t)ms, 0, 0, 0);
    p->paused_until = s->now + (usec_t)(ms * 1000);
    if (ms > SEGTAB_MAX_STEP_MS + 200)
        proc_stopped(p, s->now + (SEGTAB_MAX_STEP_MS + 200) * 1000, p->paused_until);
    if (ms < 3000)
        return;
    for (unsigned i = 0; i < s->n_procs; i++) {
        if (s->link[p->idx][i] != NULL)
            net_break(s, s->link[p->idx][i], 3000);
        if (s->link[i][p->idx] != NULL)
            net_break(s, s->link[i][p->idx], 3000);
    }
}

static void restart(struct sim *s, struct proc *p, double down_ms)
{
    struct event e = { .kind = E_START, .proc = p->idx };

    if (!p->alive)
        return;
    s->count.restarts++;
    proc_stop(s, p);
    sim_after_ms(s, down_ms, e);
}

void sim_pause(struct sim *s, enum sim_who who, unsigned no, msec_t ms)
{
    pause_proc(s, proc_of(s, who, no), (double)ms);
}

void sim_restart(struct sim *s, enum sim_who who, unsigned no, msec_t down_ms)
{
    restart(s, proc_of(s, who, no), (double)down_ms);
}

void fault_pause(struct sim *s)
{
    struct proc *p = &s->proc[rng_below(&s->rng, s->n_procs)];

    pause_proc(s, p, rng_chance(&s->rng, 0.7) ? sim_rand(s, 50, 1500) : sim_rand(s, 1500, 6000));
}

void fault_router_restart(struct sim *s)
{
    restart(s, proc_of(s, SIM_ROUTER, (unsigned)rng_below(&s->rng, s->o.routers)),
            sim_rand(s, 50, 2000));
}

/* They come back one after the other. */
void fault_routers_gone(struct sim *s)
{
    double ms = sim_rand(s, 500, 20000);

    for (unsigned i = 0; i < s->o.routers; i++)
        restart(s, proc_of(s, SIM_ROUTER, i), ms + sim_rand(s, 0, ms));
}

/* One that is alone may die between what it stores and what it says; of several the one
 * that leads, as a rule. */
void fault_mng_restart(struct sim *s)
{
    struct proc *p = &s->proc[0];

    if (s->o.managers > 1 && (sim_mng(s, &p) == NULL || rng_chance(&s->rng, 0.2)))
        p = &s->proc[rng_below(&s->rng, s->o.managers)];
    if (!p->alive)
        return;
    if (s->o.managers == 1 && rng_chance(&s->rng, 0.5))
        s->crash_in_act = true;
    else
        restart(s, p, sim_rand(s, 100, 4000));
}

void fault_slow_proc(struct sim *s)
{
    s->proc[rng_below(&s->rng, s->n_procs)].slow_until = s->now + (usec_t)sim_rand(s, 1e6, 6e6);
}

/* Each with its journal or its store: nothing is lost but what was in the air. */
void fault_storm(struct sim *s)
{
    sim_note(s, "a storm of restarts", 0, 0, 0, 0, 0);
    for (unsigned i = 0; i < s->n_procs; i++) {
        struct proc *p = &s->proc[i];

        if (!p->alive || rng_chance(&s->rng, 0.5))
            continue;
        if (p->kind == SIM_SEG)
            s->count.crashes++;
        restart(s, p, rng_chance(&s->rng, 0.5) ? 10 : sim_rand(s, 50, 2000));
    }
}

static void lose(struct sim *s, struct proc *p, double down_ms)
{
    if (!p->alive)
        return;
    sim_note(s, "process %lu loses everything", p->idx, 0, 0, 0, 0);
    s->count.crashes++;
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        const struct sseg *host = check_host(s, s->ticket[i].seg);

        if (host != NULL && host->node == p->idx)
            s->ticket[i].lost = true;
    }
    restart(s, p, down_ms);
    tape_wipe(p);
}

void sim_lose(struct sim *s, unsigned seg_node, msec_t down_ms)
{
    lose(s, proc_of(s, SIM_SEG, seg_node), (double)down_ms);
}

/* Sometimes it is back at once, sometimes after its segments were given to others. */
void fault_seg_lose(struct sim *s)
{
    double most = rng_chance(&s->rng, 0.5) ? 1000 : 1.5 * (double)s->o.lost_after_ms;

    lose(s, proc_of(s, SIM_SEG, (unsigned)rng_below(&s->rng, s->o.segs)),
         sim_rand(s, 100, most));
}

void fault_seg_kill(struct sim *s)
{
    struct proc *p = proc_of(s, SIM_SEG, (unsigned)rng_below(&s->rng, s->o.segs));

    if (!p->alive)
        return;
    s->count.crashes++;
    if (rng_chance(&s->rng, 0.5))
        p->dies_in_turn = true;
    else
        restart(s, p, sim_rand(s, 50, 4000));
}
