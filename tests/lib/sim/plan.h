/* plan.h: swarm testing: what one seed of sim_mixed is: a cluster, a crowd, and which
 * faults come how often (some not at all, so that rare combinations get room).
 *
 * Each number of a plan is a knob with a name, so that a plan can be changed by a text
 * ("pause=0 players=40") and a failing one be made smaller (minimise.h). */
#ifndef SEGQ_SIMPLAN_H
#define SEGQ_SIMPLAN_H

#include "tests/lib/sim/sim.h"

#define PLAN_LANES_MAX 8

struct sim_plan {
    struct sim_opts o;
    uint32_t players;               /* of each lane */
    msec_t over_ms[PLAN_LANES_MAX]; /* in which they arrive; queue after queue */
    msec_t run_ms;                  /* until everything is mended */
    double heal_per_s;
    uint32_t positions;             /* compared when all is mended? */
};

void plan_draw(struct sim_plan *p, uint64_t seed);
struct sim *plan_run(const struct sim_plan *p); /* until the end, or a violation */

enum knob_kind { KNOB_DOUBLE, KNOB_U32, KNOB_MS, KNOB_U64 };
struct knob {
    const char *name;
    enum knob_kind kind;
    size_t at;      /* in struct sim_plan */
    bool fault;     /* how often something goes wrong */
};
extern const struct knob plan_knobs[];
extern const size_t plan_n_knobs;
double knob_get(const struct sim_plan *p, const struct knob *k);
void knob_set(struct sim_plan *p, const struct knob *k, double v);
/* "name=value name=value"; false: there is no such knob, *bad is where. */
bool plan_change(struct sim_plan *p, const char *text, const char **bad);
/* What is different in p, in the form that plan_change() reads. */
void plan_print(const struct sim_plan *was, const struct sim_plan *p, char *out, size_t cap);

#endif
