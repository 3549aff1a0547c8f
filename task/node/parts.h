/* parts.h: the partitions of a node: found, made, dropped; their clocks; their busiest queues. Pure.
 * For the files of this room. */
#ifndef SEGQ_TASKTAB_PARTS_H
#define SEGQ_TASKTAB_PARTS_H

#include "task/engine/look.h"
#include "task/node/state.h"

struct part *tasktab_part(const struct tasktab *t, part_no no);
/* NULL: another epoch, or not here, or not in service. Its clock has run. */
struct part *tasktab_owned(struct tasktab *t, part_no no, uint64_t epoch);
/* The partition's clock, once a turn; not while nothing can be written. */
void tasktab_clock(struct tasktab *t, struct part *p);

/* Reads its axis now, beside the clocks of the machine. */
struct part_clock tasktab_clock_seen(const struct tasktab *t, const struct part *p);
/* True: the last such note is an hour old, or of another start, or the wall has been set since. */
bool tasktab_clock_is_old(const struct tasktab *t, const struct part *p);
/* Reckons, after it has been read, or copied to here, what its axis would show by now (PROTOCOL 26, Time). */
msec_t tasktab_clock_after(const struct tasktab *t, const struct part *p);
/* The time since a record with the members of CLOCK was written, of the node's own axis. */
msec_t tasktab_clock_gone(const struct tasktab *t, const struct trec *r);

/* A record of its tasks, its schedules, its notices. As engine_apply(). */
SQ_CHECK int tasktab_part_apply(struct part *p, const struct trec *r);
/* Appends its whole state, framed. Without memory out->failed is set. */
void tasktab_part_snapshot(const struct part *p, struct buf *out);

/* Before it is fenced, or goes: what runs of it may be at its target for as long as its leases last,
 * and takes slots of this node until then. */
void tasktab_calls_leave(struct tasktab *t, const struct part *p);

struct part_seed {
    part_no no;
    uint32_t max_tasks;
    const uint8_t *seed;
};
/* An empty partition. NULL: no memory. */
struct part *tasktab_part_new(struct tasktab *t, const struct part_seed *s);
void tasktab_part_free(struct tasktab *t, struct part *p);
/* Removes it from the table, and frees it. */
void tasktab_part_drop(struct tasktab *t, struct part *p);
/* Forgets its copy to another node (part_copy.h); a fence stays. */
void tasktab_out_end(struct part *p);
static inline uint32_t tasktab_part_tasks(const struct part *p)
{
    return p->e.store.n_slots - p->e.store.n[TASK_FREE];
}

struct node_room { /* room of the node for a task of p */
    struct part *p;
    uint64_t others; /* tasks of the other partitions */
};
/* Lets a task that is over give way if need be. False: there is none. */
bool tasktab_make_room(struct node_room *room);

/* Figures of single queues, for /metrics: those of the node with the most tasks that wait or
 * are dead, and those that the operator named: bounded, however many queues there are.
 *
 * A walk goes round the queues of each partition, some in each report, and keeps the names of its
 * busiest ones; a scrape asks what these have now. So the choice is some seconds old (a second for
 * each BUSIEST_STEPS queues of a partition), and the numbers are not. */

/* Goes on with the walk for the `most` busiest; 0: there is none. */
void busiest_look(struct busiest *b, const struct engine *e, unsigned most);

#endif
