/* fault_disks.c: faults of a segment node's disk. A full one: the first turn that has something
 * to write has not happened (segment/service/journal.h), and from then on the node holds (segtab.h); it
 * may be killed then, too. A slow one: who writes waits, since a turn's answers go out when it
 * is safe. */
#include "tests/lib/sim/fault_disks.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/tape.h"

static struct proc *any_node(struct sim *s)
{
    struct proc *p = proc_of(s, SIM_SEG, (unsigned)rng_below(&s->rng, s->o.segs));

    return p->alive ? p : NULL;
}

void fault_disk_full(struct sim *s)
{
    struct proc *p = any_node(s);

    if (p == NULL || p->disk_full)
        return;
    sim_note(s, "the disk of process %lu is full", p->idx, 0, 0, 0, 0);
    p->disk_full = true;
    faults_mend_later(s, MEND_DISK, p->idx, sim_rand(s, 200, 6000));
}

void sim_disk_full(struct sim *s, unsigned no, msec_t ms)
{
    struct proc *p = proc_of(s, SIM_SEG, no);

    p->disk_full = true;
    faults_mend_later(s, MEND_DISK, p->idx, (double)ms);
}

void fault_disk_mended(struct sim *s, struct proc *p)
{
    if (!p->disk_full)
        return;
    sim_note(s, "the disk of process %lu has room", p->idx, 0, 0, 0, 0);
    p->disk_full = p->disk_holds = false;
    if (!p->alive)
        return;
    tape_flush(p);
    segtab_hold(p->segtab, false);
}

bool disk_refuses(const struct proc *p)
{
    return p->disk_full && !p->disk_holds && p->tape.log.len > p->tape.flushed;
}

void fault_disk_slow(struct sim *s)
{
    struct proc *p = any_node(s);

    if (p != NULL)
        p->disk_slow_until = s->now + (usec_t)sim_rand(s, 1e6, 6e6);
}

void disk_turn(struct sim *s, struct proc *p, size_t bytes)
{
    if (bytes > 0 && p->disk_slow_until > s->now)
        p->busy_until = s->now + (usec_t)sim_rand(s, 1000, 250000);
}
