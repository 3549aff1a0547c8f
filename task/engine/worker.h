/* worker.h: workers take tasks, each with a lease, and say of those that they have: done, not done,
 * still at it; and which tasks they would be given next. Pure.
 *
 * The lease must be the one that the task has now, else SQ_ECONFLICT (it lapsed, and the task
 * is another's, or final), or SQ_EUNKNOWN: there is no such task. SQ_ESTALE: not the owner. */
#ifndef SEGQ_TASK_WORKER_H
#define SEGQ_TASK_WORKER_H

#include "task/engine/engine.h"

struct taken {
    task_no no;
    uint64_t lease; /* the number of the start: what is said of it needs that */
    msec_t until;   /* the end of the lease, on the node's axis */
    uint64_t body;
    unsigned attempt; /* 1: the first */
    uint64_t cost;    /* units that its start has taken */
};

/* At most n of the queue's tasks start, as limits and turns allow. lease_ms: 0 = the pool's.
 * How many; 0 also if nobody knows the queue. SQ_ESTALE: not the owner any more.
 * They are the worker's only when the turn's records are written. */
int engine_take(struct engine *e, const struct trec_text *queue, unsigned n, uint32_t lease_ms,
                struct taken *out);
/* The same of one task of any queue, for a call: of each that has one, in its turn. If the next one costs
 * more units than `most` nothing starts, out->cost says how many (else 0), and it stays the next. */
int engine_take_call(struct engine *e, uint32_t lease_ms, uint64_t most, struct taken *out);
/* Says to which target of its endpoint its call goes: 1 .. TARGET_NO_MAX. */
SQ_CHECK int engine_at_target(struct engine *e, task_no no, uint64_t lease, unsigned target);
/* Is there one? */
static inline bool engine_has_open(const struct engine *e)
{
    return !e->fenced &&
           (e->firsts > 0 || (e->tree.ring != 0 && allowance_lets(&e->allowance, e->at)));
}

/* result: where it is; kept as it is. Again with the same lease: SQ_ECONFLICT; engine_done_start()
 * knows. */
SQ_CHECK int engine_ack(struct engine *e, task_no no, uint64_t lease, uint64_t result);
/* The start under which the task was done, while it is kept, and of one of the latest that have
 * gone; else 0. */
uint64_t engine_done_start(const struct engine *e, task_no no);
/* The start of one of the latest attempts that were given back; else 0. */
uint64_t engine_given_back_start(const struct engine *e, task_no no);
/* delay_ms: < 0 as the back-off says. Of `a` are meant its end, number and reason (SQ_EINVAL: too
 * long). 0; the task is tried again, or dead. */
SQ_CHECK int engine_nack(struct engine *e, task_no no, uint64_t lease, msec_t delay_ms,
                         const struct attempt *a);
/* No worker has seen it: the attempt does not count, and it has its place in line again. Its units are given
 * back; a rate of starts has been paid all the same. */
SQ_CHECK int engine_unseen(struct engine *e, task_no no, uint64_t lease);
struct call_failed {
    msec_t delay_ms; /* delay as in engine_nack(), */
    msec_t least_ms; /* but not before that */
    bool spared;     /* does not count: the task gets an attempt more of its own for it, and with
                      * ATTEMPTS_MAX of them takes this one back */
    bool excused;    /* the same, unless this was its last: what may be sent once is sent once */
    bool for_good;   /* no attempt follows: dead */
    struct attempt how; /* end, number and reason of the attempt */
    uint64_t reply;     /* the target's words, in place of earlier ones; 0: nothing */
};
/* The attempt that runs took so many units: what it was started for is charged the difference, or given it
 * back. Before its end, in the same turn; again: the newest word counts. 0, SQ_ECONFLICT, SQ_EINVAL: more
 * than TASK_COST_MAX; SQ_ENOMEM. */
SQ_CHECK int engine_settle(struct engine *e, task_no no, uint64_t lease, uint64_t units);
/* The same of an attempt that was a call. One that is spared is given its units back, unless they are
 * settled. 0: the reply is the task's; without memory for that it is freed. SQ_ENOMEM: only if it is
 * spared. */
SQ_CHECK int engine_call_failed(struct engine *e, task_no no, uint64_t lease,
                                const struct call_failed *f);
/* The answer to its call begins to go to its caller: however the attempt ends, none follows. */
SQ_CHECK int engine_pass(struct engine *e, task_no no, uint64_t lease);
bool engine_is_passed(const struct engine *e, task_no no, uint64_t lease);
/* The caller has given it up: cancelled at once, as by engine_cut(), and what it takes up is held for
 * lease_ms at most. Of `how` are meant number and reason. */
SQ_CHECK int engine_give_up(struct engine *e, task_no no, uint64_t lease, uint32_t lease_ms,
                            const struct attempt *how);
/* This attempt is known to be over. 0: its task was cut (engine_cut()), and holds nothing any more;
 * SQ_ECONFLICT: that was not so. */
SQ_CHECK int engine_cut_ends(struct engine *e, task_no no, uint32_t attempt);
/* Does the task run under this lease? */
bool engine_runs(const struct engine *e, task_no no, uint64_t lease);
/* The lease ends lease_ms from now. */
SQ_CHECK int engine_extend(struct engine *e, task_no no, uint64_t lease, uint32_t lease_ms);
/* Keeps what its worker says of it, in place of what it said before; lease_ms: as engine_extend(); 0: the lease
 * stays. SQ_EINVAL: too long; SQ_ENOMEM: nothing has changed. */
SQ_CHECK int engine_progress(struct engine *e, task_no no, uint64_t lease, const struct worker_said *s,
                             uint32_t lease_ms);
/* Ends leases of calls that nobody has extended since their start so much earlier, once, and no sooner
 * than so long from now. Those that came by a snapshot stay: it does not say whether somebody has. */
void engine_shorten_calls(struct engine *e, uint32_t ms);

/* The first tasks of a queue, in the order in which they would start.
 *
 * The order is that of engine_take() at this moment, one after another, if nothing else happens: no task
 * comes, ends or changes, and time stands. It is found by doing that to a trial of the tree (trial.h):
 * nothing starts.
 *
 * What stops the queue as a whole (pause, rate, tasks at once, its pool's limits by metrics) says when
 * they start, and not in which order: the list goes on as if there was no such limit, and `now` says
 * how many may start at once. What stops a key holds: its tasks are not in the list while it is closed,
 * nor those behind the one that closes it. */

#define FIRST_STEPS 40000u /* steps of the tree: less than 10 ms, also where each finds a key that may not */

struct first_tasks {
    uint32_t waiting; /* tasks in line in the queue */
    uint32_t n;       /* in the list; at most as many as there was room for */
    uint32_t now;     /* the first so many may start at once */
    bool cut;         /* the list ends here since it took FIRST_STEPS */
};

/* Lists at most `most`. Of a queue that has no task: none. 0 or SQ_ENOMEM. */
SQ_CHECK int engine_first(struct engine *e, const struct trec_text *queue, uint32_t most, task_no *out,
                          struct first_tasks *f);

#endif
