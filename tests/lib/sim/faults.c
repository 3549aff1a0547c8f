/* faults.c: what goes wrong, each kind at its own random moments; and the mending.
 * The kinds themselves: fault_*.c, a family in each. */
#include "tests/lib/sim/faults.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_disks.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/ops.h"

#include <string.h>

void faults_mend_later(struct sim *s, enum mend what, uint32_t whom, double ms)
{
    struct event e = { .kind = E_MEND, .proc = SIM_NOBODY, .a = what, .b = whom };

    sim_after_ms(s, ms, e);
}

/* ---- when ---------------------------------------------------------------------------- */

typedef void (*fault_fn)(struct sim *s);
static const fault_fn fault_do[] = {
#define X(name) fault_##name,
    SIM_FAULTS(X)
#undef X
};

static double fault_rate(const struct sim *s, unsigned i)
{
    const double rates[] = {
#define X(name) s->o.faults.name,
        SIM_FAULTS(X)
#undef X
    };

    return rates[i];
}

static void next_fault(struct sim *s, unsigned i)
{
    struct event e = { .kind = E_FAULT, .proc = SIM_NOBODY, .a = i };

    if (fault_rate(s, i) > 0)
        sim_after_ms(s, rng_exp(&s->rng, 60000.0 / fault_rate(s, i)), e);
}

void faults_start(struct sim *s)
{
    s->faults_on = true;
    for (unsigned i = 0; i < ARRAY_LEN(fault_do); i++)
        next_fault(s, i);
}

/* ---- mending ------------------------------------------------------------------------- */

static void mend_all(struct sim *s)
{
    if (sim_mng(s, NULL) == NULL || s->crash_in_act) {
        s->crash_in_act = false;
        faults_mend_later(s, MEND_ALL, 0, 300);
        return;
    }
    for (unsigned i = 0; i < s->o.segs; i++)
        sim_drain(s, i, false);
    for (unsigned q = 0; q < s->o.queues; q++) {
        if (s->queue[q].state != DEF_OPEN)
            sim_order(s, q, MNG_OPEN);
        s->queue[q].slots = s->o.max_active;
        s->queue[q].patch = ops_unpatched(s);
        sim_rate(s, q, s->o.release_per_s);
    }
}

static void over_by_now(const struct sim *s, usec_t *until)
{
    *until = *until < s->now ? *until : s->now;
}

/* Nothing about it is slow any more, and when it was is still known. */
static void hasten(struct sim *s, struct proc *p)
{
    for (unsigned k = 0; k < s->n_procs; k++)
        over_by_now(s, &s->slow_until[p->idx][k]);
    over_by_now(s, &p->slow_until);
    over_by_now(s, &p->disk_slow_until);
    fault_disk_mended(s, p);
}

void sim_heal(struct sim *s, double release_per_s)
{
    s->faults_on = false;
    s->healed = true;
    s->o.release_per_s = release_per_s;
    if (s->o.max_active > 0)
        s->o.max_active = 20 * s->o.max_active + s->n_players / 2;
    memset(s->blocked_until, 0, sizeof(s->blocked_until));
    for (unsigned i = 0; i < s->n_procs; i++)
        hasten(s, &s->proc[i]);
    s->store.away_until = s->store.slow_until = 0;
    mend_all(s);
}

void faults_event(struct sim *s, const struct event *e)
{
    if (e->kind == E_FAULT) {
        if (!s->faults_on)
            return;
        sim_note(s, "fault %lu", e->a, 0, 0, 0, 0);
        fault_do[e->a](s);
        next_fault(s, e->a);
    } else if (e->a == MEND_ALL) {
        mend_all(s);
    } else if (e->a == MEND_SAY_AGAIN) {
        ops_say_again(s);
    } else if (e->a == MEND_ONEWAY) {
        net_break(s, s->conn[e->b], 1000);
    } else if (e->a == MEND_DISK) {
        fault_disk_mended(s, &s->proc[e->b]);
    } else if (!s->healed && e->a == MEND_UNDRAIN) {
        sim_drain(s, e->b, false);
    } else if (!s->healed && e->a == MEND_OPEN) {
        sim_order(s, e->b, MNG_OPEN);
    }
}
