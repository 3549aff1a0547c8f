/* fault_clocks.c: wall clocks: each process has its own, and it may leap. Monotonic ones go
 * on. Passes carry the stamps of whoever led: for the checks they are translated back. */
#include "tests/lib/sim/fault_clocks.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/proc.h"

#define MINUTES(n) ((n) * 60000ll)

/* Further apart than a run with such faults is long: a stamp tells whose clock it was. */
static const int64_t offs[] = { 0, MINUTES(1440), -MINUTES(1440), MINUTES(60), -MINUTES(60),
                                MINUTES(5), -MINUTES(5) };

int64_t clock_wall(const struct proc *p)
{
    return sim_wall(p->sim) + p->wall_off_ms;
}

struct seg_now clock_now(const struct proc *p)
{
    return (struct seg_now){ .now_ms = sim_ms(p->sim), .wall_ms = clock_wall(p) };
}

int64_t clock_true(const struct sim *s, int64_t stamp_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(offs); i++) {
        int64_t at_ms = stamp_ms - offs[i];

        if (at_ms >= SIM_WALL_MS && at_ms <= sim_wall(s))
            return at_ms;
    }
    return stamp_ms;
}

static void leap(struct sim *s, struct proc *p, int64_t off_ms)
{
    sim_note(s, "the clock of process %lu leaps from %ld to %ld ms ahead", p->idx,
             (uint64_t)p->wall_off_ms, (uint64_t)off_ms, 0, 0);
    s->count.jumps += off_ms != p->wall_off_ms;
    p->wall_off_ms = off_ms;
    if (off_ms > s->wall_ahead_ms)
        s->wall_ahead_ms = off_ms;
}

/* Sometimes it is set right. */
void fault_clock_jump(struct sim *s)
{
    leap(s, &s->proc[rng_below(&s->rng, s->n_procs)],
         offs[rng_below(&s->rng, ARRAY_LEN(offs))]);
}

void sim_clock(struct sim *s, enum sim_who who, unsigned no, int64_t off_ms)
{
    leap(s, proc_of(s, who, no), off_ms);
}
