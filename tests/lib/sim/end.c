/* end.c: what is checked when everybody has gone: release stamps follow the order of joins
 * (I3), no more were released than the rates allowed (I7). The rest of the invariants, and
 * what is exempt: check.c. */
#include "tests/lib/sim/end.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/turns.h"

#include <stdlib.h>
#include <string.h>

static unsigned long long llu(uint64_t v)
{
    return v;
}

/* The highest rate that an operator allowed at any moment of the interval. */
double check_rate(const struct squeue *q, int64_t from_ms, int64_t to_ms)
{
    double max = 0, now = 0;

    for (size_t i = 0; i < q->n_rates; i++) {
        now = q->rate_log[i].per_s;
        if (i + 1 < q->n_rates && q->rate_log[i + 1].at_ms < from_ms - 250)
            continue;
        if (q->rate_log[i].at_ms <= to_ms && now > max)
            max = now;
    }
    return max;
}

static int by_lane_and_order(const void *a, const void *b)
{
    const struct ticket *x = a, *y = b;

    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->ord < y->ord ? -1 : x->ord > y->ord;
}

static void end_order(struct sim *s)
{
    const struct ticket *last = NULL;
    struct ticket *v;
    int64_t at_ms, last_ms = 0;

    if (s->o.skip_after_ms < SIM_NEVER_MS || s->n_tickets == 0)
        return;
    v = sim_alloc(s->n_tickets * sizeof(*v)); /* others know tickets by their index */
    memcpy(v, s->ticket, s->n_tickets * sizeof(*v));
    qsort(v, s->n_tickets, sizeof(*v), by_lane_and_order);
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        const struct ticket *t = &v[i];

        if (t->pass == 0 || t->relaxed || t->returned || t->revived)
            continue;
        at_ms = clock_true(s, t->released_ms);
        if (last != NULL && last->lane == t->lane && at_ms < last_ms)
            sim_fail(s, "I3: ticket %llu-%u was released %lld ms before %llu-%u, which "
                        "joined earlier",
                     llu(t->seg), t->number, (long long)(last_ms - at_ms),
                     llu(last->seg), last->number);
        last = t;
        last_ms = at_ms;
    }
    free(v);
}

static int by_time(const void *a, const void *b)
{
    const struct released *x = a, *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return x->at_ms < y->at_ms ? -1 : x->at_ms > y->at_ms;
}

/* What is on the way to the farthest node and back, and to the one behind it. */
static double way_ms(const struct sim *s, const struct released *r)
{
    double slow = r->way_ms > 100 ? 2.2 * r->way_ms : 0, ocean = 4.4 * s->o.ocean_ms;

    return slow > ocean ? slow : ocean;
}

/* I7 as a bucket of four ticks: one is made up for, one is carried, and what the head of a
 * lane could not give is given by the next segment up to two ticks later; over an ocean, or a link
 * that the manager takes for one, what is earned on the way there and back counts for both of these,
 * too. For those who do not come
 * no_show_boost times as many may be released. */
static void end_rates(struct sim *s)
{
    double level = 0, by_hand = 0;
    int64_t last = 0;

    if (s->o.slots_only || s->n_rel == 0)
        return; /* it is no rate that lets them in, or nobody was */
    qsort(s->rel, s->n_rel, sizeof(*s->rel), by_time);
    for (size_t i = 0; i < s->n_rel; i++) {
        const struct released *r = &s->rel[i];
        const struct squeue *q = &s->queue[r->queue];
        bool first = i == 0 || s->rel[i - 1].queue != r->queue;
        double rate = check_rate(q, first ? r->at_ms - 100 : last, r->at_ms) * s->o.no_show_boost;
        double way_s = way_ms(s, r) > 0 ? way_ms(s, r) / 1000 + 0.1 : 0;
        double most = 2.0 + rate * (0.4 + way_s), excess;

        by_hand = first ? (double)q->by_hand + 0.999 : by_hand;
        level = first ? most : level + rate * (double)(r->at_ms - last) / 1000.0;
        if (level > most)
            level = most;
        last = r->at_ms;
        excess = (double)r->n - level;
        level = excess < 0 ? -excess : 0;
        if (excess <= 0.001)
            continue;
        by_hand -= excess;
        if (by_hand < 0) {
            sim_fail(s, "I7: queue %u released %u at %.3f s, %.2f more than %.2f/s allows",
                     r->queue, r->n, (double)(r->at_ms - SIM_WALL_MS) / 1000, excess, rate);
            return;
        }
    }
}

void check_end(struct sim *s)
{
    check_sweep(s);
    turns_end(s);
    end_rates(s);
    end_order(s);
}
