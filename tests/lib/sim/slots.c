/* slots.c: who is inside, in truth: I7 of queues that let in by slots.
 *
 *   at a node that lives    its ready and admitted, as it counts them itself
 *   at one that is down     those whose pass was shown, is good, and was not given back
 *   once a segment was lost the latter, everywhere: what is opened again takes everybody
 *                           for inside who was released there, and brings some back who
 *                           had left (PROTOCOL.md section 15)
 *
 * A move's tickets are at its source until the alias is stored. Looked at after every pop:
 * in between the number only falls. */
#include "tests/lib/sim/slots.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"

struct inside {
    struct sim *s;
    const struct proc *p;
    unsigned queue;
    uint32_t n;
};

static void on_seg(void *ctx, const struct seg_status *st)
{
    struct inside *x = ctx;
    const struct sseg *g = check_seg(x->s, st->seg);

    if (g == NULL || g->lane / LANES_MAX != x->queue || g->node != x->p->idx || g->gone ||
        g->alias != 0)
        return;
    x->n += st->ready + st->active;
}

/* The node's own count has him, if it lives. */
static bool is_counted(struct sim *s, const struct ticket *t)
{
    const struct sseg *g = check_host(s, t->seg);

    return !s->lost_any && g != NULL && s->proc[g->node].alive;
}

static bool has_pass(const struct sim *s, const struct ticket *t)
{
    int64_t from_ms = clock_true(s, t->released_ms);

    /* what the pass says, in whole seconds; on the clock of whoever let him in */
    return t->fate == T_ADMITTED && !t->leaving && !t->forgot &&
           (sim_wall(s) < from_ms - t->released_ms % 1000 + s->o.pass_ttl_ms ||
            sim_wall(s) < t->until_s * 1000);
}

uint32_t sim_inside(struct sim *s, unsigned queue)
{
    struct inside x = { .s = s, .queue = queue };

    for (unsigned i = 0; i < s->n_procs && !s->lost_any; i++) {
        x.p = &s->proc[i];
        if (x.p->kind == SIM_SEG && x.p->alive)
            segtab_each_seg(x.p->segtab, on_seg, &x);
    }
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        const struct ticket *t = &s->ticket[i];

        x.n += t->lane / LANES_MAX == queue && has_pass(s, t) && !is_counted(s, t);
    }
    return x.n;
}

/* The most that was allowed at any moment from then on. */
static uint32_t slots_since(const struct squeue *q, int64_t from_ms)
{
    uint32_t most = 0;

    for (size_t i = 0; i < q->n_rates; i++) {
        bool over = i + 1 < q->n_rates && q->rate_log[i + 1].at_ms < from_ms - 250;

        if (!over && q->rate_log[i].slots > most)
            most = q->rate_log[i].slots;
    }
    return most;
}

/* A pass that is over by a clock that leapt gives its slot back by that clock. */
void slots_check(struct sim *s, unsigned queue, int64_t ordered_ms)
{
    uint32_t n, most = slots_since(&s->queue[queue], ordered_ms);

    if (s->o.max_active == 0 || s->count.jumps > 0)
        return;
    n = sim_inside(s, queue);
    s->count.inside_max = n > s->count.inside_max ? n : s->count.inside_max;
    if (n > most)
        sim_fail(s, "I7: %u are inside of queue %u, max_active is %u", n, queue, most);
}
