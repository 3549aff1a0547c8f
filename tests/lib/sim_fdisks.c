/* sim_fdisks.c: faults of a segment node's disk. A full one: the node holds (segtab.h), as
 * its journal tells it to; what else changes meanwhile is written down later, and no process
 * with a full disk dies (what would be lost then: test_journal_faults, chaos F20). A slow
 * one: who writes waits, since a turn's answers go out when it is safe. */
#include "tests/lib/sim_int.h"

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
    segtab_hold(p->segtab, true);
    faults_mend_later(s, MEND_DISK, p->idx, sim_rand(s, 200, 6000));
}

void fault_disk_mended(struct sim *s, struct proc *p)
{
    if (!p->disk_full)
        return;
    sim_note(s, "the disk of process %lu has room", p->idx, 0, 0, 0, 0);
    p->disk_full = false;
    if (p->alive)
        segtab_hold(p->segtab, false);
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
