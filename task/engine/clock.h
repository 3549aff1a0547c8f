/* clock.h: what happens by itself: delays and back-offs end, leases lapse, lives end. Pure. */
#ifndef SEGQ_TASK_CLOCK_H
#define SEGQ_TASK_CLOCK_H

#include "task/engine/engine.h"

struct task_now {
    msec_t ms;      /* wall clock at the start of the process, and monotonic from there */
    msec_t wall_ms; /* wall clock */
};

/* Sets the clock to `now`, also for the commands that follow; at most `most` timers are carried
 * out, in the order of the moments at which they were due on the node's axis. For a moment of the
 * wall clock that is where the axis stood if the wall has run evenly with it since: moment + `ms` -
 * `wall_ms`; so what a jump of the wall makes due comes before what was due in between. At equal
 * moments the timer of the axis goes first. A task enters its line as of its moment, but not before
 * the last call that left nothing due (after a replay: the log's last moment). True: more are due.
 * A timer that finds no memory (or its row full, rank.h) is put off by 100 ms. */
bool engine_advance(struct engine *e, struct task_now now, unsigned most);
/* How long nothing happens by itself; MSEC_NEVER. */
msec_t engine_idle_ms(const struct engine *e, struct task_now now);

/* Lets a task that is over go before its time: the one whose life ends first (as exactly as the
 * wheel knows, which is the order of their ends where all live equally long). False: there is
 * none. */
bool engine_give_way(struct engine *e);

/* ---- for the other files of this room ---------------------------------------------- */
struct call_failed;
/* The attempt has failed: tried again, or dead, or cancelled if somebody wanted that (worker.h).
 * taken_back: it does not count, and the next one has its number. */
void task_attempt_ends(struct engine *e, task_slot slot, const struct call_failed *f, bool taken_back);
/* No worker has seen the attempt: it does not count, and the task has its place in line as before. */
void task_attempt_unseen(struct engine *e, task_slot slot);
/* Frees what a task that was cut still held. */
void task_cut_ends(struct engine *e, task_slot slot);
/* A dead one waits again. As task_perform(). */
SQ_CHECK int task_redrive(struct engine *e, task_slot slot);
/* How often it may be tried, and in *b how long it waits in between: by its pool's rules, or its
 * own. */
unsigned task_most_attempts(const struct engine *e, task_slot slot, struct backoff *b);
/* When a task that begins to wait now expires, for its record; 0: never. own: NULL: nothing. */
uint64_t task_expiry(const struct engine *e, const struct pool *p, const struct task_own *own);
/* The end of something that lasts so long; at least a millisecond, within what timers can. */
uint64_t task_end_of(const struct engine *e, uint64_t for_ms);

#endif
