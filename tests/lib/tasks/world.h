/* world.h: a partition in a world that kills, loses and jumps; one thread, one seed.
 *
 * A step is a turn of the process: time passes, some callers and workers say something, the
 * records go to the journal as one group, the answers go out. At the end of a turn the node
 * may be killed: the group is then torn (and gone) or whole, and nobody gets an answer; or
 * the disk refuses it, and the node rebuilds itself from the journal. In some seeds the records are
 * in a Redis (shared.h), and the next owner opens them there.
 *
 * The model (model.h) knows only what answers say, and looks after every step. */
#ifndef SEGQ_TASKS_WORLD_H
#define SEGQ_TASKS_WORLD_H

#include "common/base/rng.h"
#include "tests/lib/tasks/limits.h"
#include "tests/lib/tasks/plan.h"
#include "tests/lib/tasks/said.h"
#include "tests/lib/tasks/shared.h"

#include "task/engine/engine.h"

#define WORLD_TASKS 2000u

struct model;

struct world {
    struct plan plan;
    struct rng rng;
    struct limits limits; /* of keys, now */
    uint64_t told;        /* the partition's rate per 1000 s + 1, until told_until; 0: none */
    msec_t told_until;
    struct engine *e; /* owned */
    struct task_now now;
    struct buf journal;   /* groups: length 4, sum 8, records */
    size_t snap_bytes;    /* of the journal's first group, a snapshot */
    struct shared shared; /* in place of the journal, in some seeds */
    struct said said[SAID_MAX]; /* of this turn: not answered yet */
    unsigned n_said;
    struct model *model;
    bool gave_way; /* the partition was full: tasks that were over went before their time */
    msec_t due[WORLD_TASKS]; /* by slot: of those that enter in the advance that runs */
    uint64_t entries; /* by the clock */
    uint64_t kills, torn, refused, snapshots, moves, jumps, sleeps, submitted, started, steps;
    uint64_t no_units; /* submissions refused by max_waiting_units */
    char why[400]; /* what broke; "" */
};

/* Runs the seed to its end. False: w->why says what broke, and when. */
bool world_run(struct world *w, uint64_t seed);
void world_free(struct world *w);
/* The first complaint counts. */
uint32_t world_weigh(uint64_t body); /* some length, for max_bytes */
void world_broke(struct world *w, const char *fmt, ...) SQ_PRINTF(2, 3);

#endif
