/* faulty_day.h: 200 players come within 8 s, and after each of six turns of 5 s something fails;
 * then all is mended, places are compared, and the line has to become empty. */
#ifndef SEGQ_SIM_FAULTY_DAY_H
#define SEGQ_SIM_FAULTY_DAY_H

#include "tests/lib/sim/sim_test.h"

typedef void day_fault(struct sim *s, unsigned turn);

/* fault: NULL for a calm day. Fails the test, with the trace, if a rule was broken. */
static inline struct sim_counts faulty_day(struct sim_opts o, day_fault *fault,
                                           const char *program)
{
    struct sim *s = sim_new(&o);
    struct sim_counts n;

    sim_join(s, 0, 0, 200, 8000);
    for (unsigned i = 0; i < 6 && sim_ok(s); i++) {
        sim_run(s, 5000);
        if (fault != NULL)
            fault(s, i);
    }
    sim_run(s, 10000);
    sim_heal(s, 50);
    sim_run(s, 8000);
    sim_check_positions(s);
    cr_expect(sim_run_until_quiet(s, 200000));
    n = sim_count(s);
    sim_finish(s, program);
    return n;
}

static inline void cut_a_router_from_a_node(struct sim *s, unsigned turn)
{
    sim_cut(s, SIM_ROUTER, turn % 3, SIM_SEG, turn / 2 % 3, 500 + 1000 * turn);
}

static inline void restart_a_node(struct sim *s, unsigned turn)
{
    sim_restart(s, SIM_SEG, turn % 3, 50 + 400 * turn);
}

#endif
