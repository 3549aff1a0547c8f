/* sim_faults.c: what goes wrong, each kind at its own random moments; and the mending. */
#include "tests/lib/sim_int.h"

#include <string.h>

#define X_FAULTS(X)                                                                      \
    X(link_break, do_link_break)                                                         \
    X(link_cut, do_link_cut)                                                             \
    X(slow_link, do_slow_link)                                                           \
    X(pause, do_pause)                                                                   \
    X(router_restart, do_router_restart)                                                 \
    X(mng_restart, do_mng_restart)                                                       \
    X(seg_lose, do_seg_lose)                                                           \
    X(drain, do_drain)                                                                   \
    X(queue_pause, do_queue_pause)                                                       \
    X(queue_close, do_queue_close)                                                       \
    X(queue_put, do_queue_put)                                                           \
    X(release_by_hand, do_release)                                                       \
    X(add_node, do_add_node)                                                             \
    X(seg_kill, do_seg_kill)

enum mend { MEND_UNDRAIN, MEND_OPEN, MEND_ALL };

static void mend_later(struct sim *s, enum mend what, uint32_t whom, double ms)
{
    struct event e = { .kind = E_MEND, .proc = SIM_NOBODY, .a = what, .b = whom };

    sim_after_ms(s, ms, e);
}

/* ---- links --------------------------------------------------------------------------- */

static struct conn *any_conn(struct sim *s)
{
    for (int tries = 0; tries < 20 && s->n_conns > 0; tries++) {
        struct conn *c = s->conn[rng_below(&s->rng, s->n_conns)];

        if (!c->broken && c->told[0])
            return c;
    }
    return NULL;
}

static void cut(struct sim *s, unsigned a, unsigned b, double ms)
{
    usec_t until = s->now + (usec_t)(ms * 1000);

    s->blocked_until[a][b] = s->blocked_until[b][a] = until;
    for (unsigned k = 0; k < 2; k++) {
        struct conn *c = k == 0 ? s->link[a][b] : s->link[b][a];

        if (c != NULL)
            net_break(s, c, 3000);
    }
}

static void do_link_break(struct sim *s)
{
    struct conn *c = any_conn(s);

    if (c == NULL)
        return;
    s->blocked_until[c->end[0]][c->end[1]] = s->now + (usec_t)sim_rand(s, 0, 8e5);
    net_break(s, c, 1500);
}

static void do_link_cut(struct sim *s)
{
    struct conn *c = any_conn(s);

    if (c != NULL)
        cut(s, c->end[0], c->end[1], sim_rand(s, 500, 8000));
}

static void do_slow_link(struct sim *s)
{
    struct conn *c = any_conn(s);

    if (c != NULL)
        s->slow_until[c->end[0]][c->end[1]] = s->now + (usec_t)sim_rand(s, 1e6, 1e7);
}

void sim_cut(struct sim *s, enum sim_who a, unsigned a_no, enum sim_who b, unsigned b_no,
             msec_t ms)
{
    cut(s, proc_of(s, a, a_no)->idx, proc_of(s, b, b_no)->idx, (double)ms);
}

/* ---- processes ----------------------------------------------------------------------- */

/* Silent for longer than three heartbeats: the others close the connection. */
static void pause_proc(struct sim *s, struct proc *p, double ms)
{
    if (!p->alive || p->paused_until > s->now)
        return;
    sim_note(s, "process %lu is stopped for %lu ms", p->idx, (uint64_t)ms, 0, 0, 0);
    p->paused_until = s->now + (usec_t)(ms * 1000);
    if (ms > SEGTAB_MAX_STEP_MS + 200)
        p->stopped += (usec_t)((ms - SEGTAB_MAX_STEP_MS - 200) * 1000);
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

static void do_pause(struct sim *s)
{
    struct proc *p = &s->proc[rng_below(&s->rng, s->n_procs)];

    pause_proc(s, p, rng_chance(&s->rng, 0.7) ? sim_rand(s, 50, 1500) : sim_rand(s, 1500, 6000));
}

static void do_router_restart(struct sim *s)
{
    restart(s, proc_of(s, SIM_ROUTER, (unsigned)rng_below(&s->rng, s->o.routers)),
            sim_rand(s, 50, 2000));
}

static void do_mng_restart(struct sim *s)
{
    if (!s->proc[0].alive)
        return;
    if (rng_chance(&s->rng, 0.5))
        s->crash_in_act = true;
    else
        restart(s, &s->proc[0], sim_rand(s, 100, 4000));
}

static void lose(struct sim *s, struct proc *p, double down_ms)
{
    if (!p->alive)
        return;
    sim_note(s, "process %lu loses everything", p->idx, 0, 0, 0, 0);
    s->count.crashes++;
    restart(s, p, down_ms);
    tape_wipe(p);
}

void sim_lose(struct sim *s, unsigned seg_node, msec_t down_ms)
{
    lose(s, proc_of(s, SIM_SEG, seg_node), (double)down_ms);
}

/* Sometimes it is back at once, sometimes after its segments were given to others. */
static void do_seg_lose(struct sim *s)
{
    double most = rng_chance(&s->rng, 0.5) ? 1000 : 1.5 * (double)s->o.lost_after_ms;

    lose(s, proc_of(s, SIM_SEG, (unsigned)rng_below(&s->rng, s->o.segs)),
         sim_rand(s, 100, most));
}

static void do_seg_kill(struct sim *s)
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

/* ---- operators ----------------------------------------------------------------------- */

static void do_drain(struct sim *s)
{
    unsigned no = (unsigned)rng_below(&s->rng, s->o.segs);

    if (s->o.segs < 2)
        return;
    sim_drain(s, no, true);
    mend_later(s, MEND_UNDRAIN, no, sim_rand(s, 3000, 25000));
}

static void do_queue_pause(struct sim *s)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);

    sim_order(s, q, MNG_PAUSE);
    mend_later(s, MEND_OPEN, q, sim_rand(s, 500, 6000));
}

static void do_queue_close(struct sim *s)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);

    sim_order(s, q, MNG_CLOSE);
    mend_later(s, MEND_OPEN, q, sim_rand(s, 500, 6000));
}

static void do_queue_put(struct sim *s)
{
    unsigned q = (unsigned)rng_below(&s->rng, s->o.queues);
    struct squeue *x = &s->queue[q];

    x->capacity = (uint32_t)rng_below(&s->rng, 80) + 5;
    x->open_next_at = sim_rand(s, 0.3, 1.0);
    x->merge = rng_chance(&s->rng, 0.8);
    sim_rate(s, q, s->o.release_per_s * sim_rand(s, 0.3, 3.0));
}

static void do_release(struct sim *s)
{
    sim_release(s, (unsigned)rng_below(&s->rng, s->o.queues), 1 + rng_below(&s->rng, 20));
}

static void do_add_node(struct sim *s)
{
    sim_add_node(s);
}

/* ---- when ---------------------------------------------------------------------------- */

typedef void (*fault_fn)(struct sim *s);
static const fault_fn fault_do[] = {
#define X(name, fn) fn,
    X_FAULTS(X)
#undef X
};

static double fault_rate(const struct sim *s, unsigned i)
{
    const double rates[] = {
#define X(name, fn) s->o.faults.name,
        X_FAULTS(X)
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
        mend_later(s, MEND_ALL, 0, 300);
        return;
    }
    for (unsigned i = 0; i < s->o.segs; i++)
        sim_drain(s, i, false);
    for (unsigned q = 0; q < s->o.queues; q++) {
        if (s->queue[q].state != DEF_OPEN)
            sim_order(s, q, MNG_OPEN);
        sim_rate(s, q, s->o.release_per_s);
    }
}

void sim_heal(struct sim *s, double release_per_s)
{
    s->faults_on = false;
    s->healed = true;
    s->o.release_per_s = release_per_s;
    memset(s->blocked_until, 0, sizeof(s->blocked_until));
    memset(s->slow_until, 0, sizeof(s->slow_until));
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
    } else if (!s->healed && e->a == MEND_UNDRAIN) {
        sim_drain(s, e->b, false);
    } else if (!s->healed && e->a == MEND_OPEN) {
        sim_order(s, e->b, MNG_OPEN);
    }
}
