/* poolcalls.h: for poolrig.h: what a task node does with endpoints. It begins as many calls as it
 * has tasks for and its share lets it, as long as it has a partition of theirs; calls go on at the
 * target when the node is killed, and it knows of them when it is back. Over all nodes there are
 * never more than the endpoint bears, nor higher rates (J4). Names of endpoints: "e", "f". */
#ifndef SEGQ_TESTS_POOLCALLS_H
#define SEGQ_TESTS_POOLCALLS_H

#include <string.h>

#include "common/base/rng.h"
#include "common/recur/meter.h"
#include "common/wire/msg.h"

#define PC_ENDPOINTS 2
#define PC_CALLS     16    /* of one endpoint, at one node */
#define PC_EPOCH     INT64_C(1800000000000) /* the wall clock is so far ahead */
#define PC_MINUTES   64
#define PC_LONGEST   30000 /* the deadline of a definition that names none */

struct pc_endpoint {
    uint64_t serial, slots, rate, burst; /* in force; serial 0: nothing is */
    uint64_t sent;        /* ever */
    uint64_t adaptive_min;
    uint32_t affinity, affinity_bound;
    uint64_t told_left, told_ms; /* by the manager: what its answers said at another node; */
    uint64_t says_left, says_ms; /* and here */
    uint64_t rates[3 * UNIT_RATES_MAX]; /* in units: units, per, burst of each */
    uint32_t n_rates, n_shared; /* numbers; rates of its budget, the last ones */
    uint64_t kept;          /* part that nobody else had since the last link */
    uint64_t parts, shared; /* of rates in units, and of its budget's; each call has one unit */
    struct purse purse; /* of the calendar window of its first rate; to_ms 0: it has none */
    unsigned begun[PC_MINUTES]; /* units in the window that began in this minute */
    unsigned cost; /* of a call, in that window; 0: 1 */
    bool paused, tripped;
    uint64_t resets, probe;
    msec_t end[PC_CALLS]; /* of the calls that are at the target */
    unsigned n;
};

static inline struct pc_endpoint *pc_named(struct pc_endpoint *v, const char *name)
{
    return &v[name[0] == 'f'];
}

static inline void pc_told(struct pc_endpoint *v, const struct msg_endpoint *g)
{
    struct pc_endpoint *x = pc_named(v, g->name);

    x->serial = g->serial;
    x->slots = g->max_concurrent;
    x->adaptive_min = g->adaptive_min;
    x->affinity = g->affinity;
    x->affinity_bound = g->affinity_bound;
    x->rate = g->rate;
    x->burst = g->burst;
    x->paused = g->paused;
    x->tripped = g->tripped;
    x->resets = g->resets;
    x->probe = g->probe;
    x->told_left = g->n_told_word >= 2 ? g->told_word[0] : 0;
    x->told_ms = g->n_told_word >= 2 ? g->told_word[1] : 0;
    x->parts = g->n_unit_rates / 3 > g->n_shared ? g->unit_part : 0;
    x->kept = g->unit_kept;
    x->shared = g->n_shared > 0 ? g->shared_part : 0;
    if (g->n_unit_window >= WINDOW_NUMBERS) {
        const struct meter_window w = { g->unit_window[0], (int64_t)g->unit_window[1], (int64_t)g->unit_window[2] };

        purse_gets(&x->purse, &w, g->unit_window[3]);
    } else {
        x->purse = (struct purse){ 0 };
    }
    x->n_rates = g->n_unit_rates;
    x->n_shared = g->n_shared;
    for (uint32_t i = 0; i < g->n_unit_rates && i < 3 * UNIT_RATES_MAX; i++)
        x->rates[i] = g->unit_rates[i];
}

static inline void pc_dropped(struct pc_endpoint *v, const struct msg_endpoint_drop *g)
{
    struct pc_endpoint *x = pc_named(v, g->name);

    x->serial = x->slots = x->rate = x->parts = x->shared = 0;
}

/* The process ends: what it was told is gone, its calls are not. */
static inline void pc_killed(struct pc_endpoint *v)
{
    for (unsigned i = 0; i < PC_ENDPOINTS; i++)
        v[i].serial = v[i].slots = v[i].rate = v[i].sent = v[i].parts = v[i].shared = 0;
}

static inline unsigned pc_cost(const struct pc_endpoint *x)
{
    return x->cost != 0 ? x->cost : 1;
}

static inline bool pc_affords(const struct pc_endpoint *x, msec_t now)
{
    return x->purse.window.to_ms == 0 || purse_most(&x->purse, x->rates[0], PC_EPOCH + now) >= pc_cost(x);
}

/* wants: calls at once that it has tasks for, of each endpoint of which it has partitions in service;
 * a call takes `longest` at most. */
static inline void pc_turn(struct pc_endpoint *v, struct rng *r, msec_t now, const unsigned *wants,
                           unsigned longest)
{
    for (unsigned i = 0; i < PC_ENDPOINTS; i++) {
        struct pc_endpoint *x = &v[i];

        for (unsigned k = 0; k < x->n;)
            if (x->end[k] <= now)
                x->end[k] = x->end[--x->n];
            else
                k++;
        while (x->n < wants[i] && pc_affords(x, now) && !x->paused && !x->tripped && x->n < x->slots &&
               x->n < PC_CALLS) {
            x->end[x->n++] = now + 1 + (msec_t)rng_below(r, longest);
            x->sent++;
            purse_pays(&x->purse, pc_cost(x));
            x->begun[x->purse.window.from_ms / 60000 % PC_MINUTES] += pc_cost(x);
        }
    }
}

static inline uint32_t pc_status(const struct pc_endpoint *v, const unsigned *wants,
                                 struct endpoint_row *row)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < PC_ENDPOINTS; i++)
        if (v[i].serial != 0 || v[i].n != 0)
            row[n++] = (struct endpoint_row){ .name = i == 0 ? "e" : "f", .serial = v[i].serial,
                                              .in_flight = v[i].n, .sent = v[i].sent, .unusable = "",
                                              .waiting = wants[i] > v[i].n ? wants[i] - v[i].n : 0,
                                              .units = v[i].sent,
                                              .used = { v[i].purse.taken },
                                              .window = { v[i].purse.window.no },
                                              .needs = wants[i] > v[i].n ? pc_cost(&v[i]) : 0,
                                              .told_left = { v[i].says_left }, .told_ms = { v[i].says_ms },
                                              .probe = v[i].probe,
                                              .probe_state = v[i].probe != 0 ? PROBE_ANSWERED : PROBE_NONE,
                                              .probe_ms = 12,
                                              .probe_said = v[i].probe != 0 ? "server_error" : "" };
    return n;
}

#endif
