/* engine.h: one partition: its queues, their tasks, their clock, and what it writes down. Pure.
 *
 * A turn of the process: engine_advance() with the time, commands, then the log
 * (`log`) goes to the journal as one group, then the answers leave. Commands are in submit.h,
 * worker.h, change.h; what is asked in look.h; snapshots and the journal read again in replay.h.
 *
 * Every change is a record, carried out by apply.c alone, now as in a replay: so the levels of buckets
 * follow from the starts (and from LEVEL of a snapshot). Not in records: shares of the running round.
 *
 * Two clocks. `ms`: never goes back; delays, leases, lives. `wall_ms`: for
 * tasks that name a moment of the wall clock. A task that names one waits until the wall
 * shows it, however the wall jumps.
 *
 * Without memory a command answers SQ_ENOMEM and has changed nothing; when the log has no
 * memory, log.failed is set: the turn has not happened, and the engine is made anew from the
 * journal. The engine owns all that it is given but bodies, of which it keeps a number. */
#ifndef SEGQ_TASK_ENGINE_H
#define SEGQ_TASK_ENGINE_H

#include "common/base/metrics.h"
#include "common/task/state.h"
#include "task/containers/rank.h"
#include "task/containers/rate.h"
#include "task/engine/pool.h"
#include "task/keys/tree.h"
#include "task/store/extras.h"
#include "task/store/queue_extras.h"
#include "task/store/record.h"
#include "task/store/store.h"

struct tqueue { /* present while it has tasks */
    struct pool *pool; /* ref; NULL: the index is free */
    char *name;        /* owned */
    uint64_t hash;
    uint32_t len, limiter;
    uint32_t tasks;   /* in any state */
    uint32_t over;    /* number of them succeeded, cancelled, expired */
    uint64_t units;   /* units of those that wait (task_state_waits) */
    struct rank rank; /* entries of those that wait */
    struct starts starts;
    struct line first; /* told to run now (task.cancel): before all others */
    struct line dead; /* the longest dead in front: task.entry rises */
    uint32_t deaths;  /* the next one's task.entry */
    uint32_t redrive_last; /* slot + 1: dead ones wait again up to this one; 0: none does */
    uint64_t redrive_rate; /* per 1000 s; 0: any */
    int64_t redrive_tat;   /* rate.h */
};

/* gave_way: part of those gone: before their time, for a submission. units: of those started; more, back: what they
 * took beyond, or below, in truth */
#define ENGINE_COUNTS(X) \
    X(accepted) X(same) X(started) X(succeeded) X(retried) X(dead) X(cancelled) X(expired) X(lapsed) \
    X(gone) X(gave_way) X(units) X(units_more) X(units_back)

struct engine_counts { /* ever, since the start of the process */
#define X(m) uint64_t m;
    ENGINE_COUNTS(X)
#undef X
    struct histo late; /* delays and back-offs that ended: how late */
    struct histo wait; /* attempts: from the entry into the line to the start */
    struct waits waits; /* likewise, for the manager */
    struct histo eta_error; /* |wait that was estimated - real one|, of the promises below */
    struct histo eta_error_told; /* likewise of waits that an operator's service estimated */
};

/* An estimate that was told, until its task starts: probes of how right they are, at most one a second.
 * Each has its place by its slot; one that will never start makes room for the next. In no record. */
#define PROMISES        16
#define PROMISE_EACH_MS 1000
struct promise {
    task_no no; /* 0: none */
    msec_t at, wait_ms, told_ms; /* waits as we reckon, as the operator's service says; < 0: not known */
};

/* A start that has ended: that under which a task was done that has gone (task_done_start()), or one that
 * was given back. The latest ones are kept, and a replay of the journal makes those anew that it has. */
#define END_MARKS 4096 /* 64 KiB */
struct end_mark {
    task_no no;
    uint64_t start : 63;
    uint64_t given_back : 1;
};

struct zones;

struct engine {
    struct task_store store;
    struct tree tree;
    struct names names;
    struct owns owns;
    struct chains chains;
    struct groups groups;
    struct offers offers;
    struct attempts attempts;
    struct replies replies; /* replies of tasks that are tried again, or dead */
    struct settled settled; /* tasks that run, or are final */
    struct feeds feeds; /* starts and ends, of queues that somebody asks for; in no record */
    struct progresses progresses; /* progress of tasks that run; in no record */
    struct pages links; /* owned; of these wheels: a task is in one of them at most */
    struct wheel timers, walls;
    struct wheel overs; /* ends of the lives of tasks that are over (task_is_over): who gives way first */
    struct pages redrive_links; /* owned */
    struct wheel redrives;      /* queues whose dead wait again */
    struct pages queues; /* owned; of struct tqueue, from 1 */
    struct map queue_by_hash;
    uint32_t n_queues, free_queue, queues_now;
    uint32_t last_queue; /* to which a task came last; 0: none, or it has gone */
    uint32_t unfit;  /* queue whose next call had too many units: it is asked first; 0: none */
    uint64_t units;  /* sum of those of all queues */
    uint32_t firsts; /* tasks that were told to run now, of all queues */
    uint32_t cuts;   /* tasks that do not run, and hold slots (task_is_cut) */
    uint32_t at_target[TARGET_NO_MAX + 1]; /* tasks that run, or are cut, by the target of their call */
    struct pool **pool; /* owned; the first that matches counts */
    uint32_t n_pools, pools_cap;
    struct allowance allowance;
    uint64_t next_lease;
    struct end_mark *ends; /* owned; END_MARKS of them; NULL: none yet */
    struct promise promise[PROMISES];
    msec_t promised; /* when the newest was told */
    msec_t at, wall_at;  /* the moment of the commands: engine_advance() */
    msec_t logged_at;    /* moment in the log */
    msec_t swept;        /* nothing was due at this moment: all before it has been carried out */
    const struct zones *zones; /* ref; NULL: only UTC is known */
    msec_t windows_at, windows_seen; /* moments of the wall clock: the next look at calendar windows, the last one */
    msec_t ahead_ms;      /* added to `ms` of each call: the axis of the process before went on */
    uint8_t seed[NAMES_SEED];
    struct buf log; /* records since engine_log_reset, framed (record.h) */
    struct buf freed; /* uint64_t: bodies that no task has any more; the shell empties it */
    /* NULL, or hears of each task that becomes final, at that moment; not in a replay. */
    void (*ended)(void *ctx, const struct engine *e, task_slot slot);
    void (*started)(void *ctx, const struct engine *e, task_slot slot); /* ended_ctx */
    void *ended_ctx;
    bool loading;   /* between SNAP and SNAP_END of a replay */
    bool fenced;    /* another owner has the partition: every command answers SQ_ESTALE */
    uint8_t full;   /* enum task_full: the bound that the newest SQ_EFULL met */
    struct engine_counts counts;
};

/* The partition's clock at the node's `ms`. `at` stands still while nothing happens: what tells how long
 * something has lasted asks here. */
static inline msec_t engine_now(const struct engine *e, msec_t ms)
{
    return ms_max(e->at, ms + e->ahead_ms);
}

struct engine_opts {
    uint32_t max_tasks, max_keys;
    uint8_t seed[NAMES_SEED]; /* the partition's, the same for ever */
    msec_t now_ms;
    uint32_t (*weigh)(uint64_t body); /* bytes of a body, for max_bytes; NULL: none */
    const struct zones *zones; /* ref; NULL: only UTC is known */
};

void engine_init(struct engine *e, const struct engine_opts *o);
void engine_fini(struct engine *e);
/* A definition, or other rules for the same pattern. 0, SQ_EINVAL, SQ_ENOMEM. */
SQ_CHECK int engine_define(struct engine *e, const char *match, const struct task_rules *r);
/* Limits of single keys of the pool of this very pattern, as key_limits_encode() writes them, in
 * place of those that it had. Nothing is written where they are the same. 0, SQ_EPROTO, SQ_EUNKNOWN:
 * there is no such pool; SQ_ENOMEM. */
SQ_CHECK int engine_define_keys(struct engine *e, const char *match, const struct buf *keys);
/* Limits its tasks from now on; those that are there stay. */
void engine_limit(struct engine *e, uint32_t max_tasks);
/* Notes the waits that are estimated of the task, which has just begun to wait; if it is time for one. < 0: it
 * is not known. */
bool engine_may_promise(const struct engine *e, task_no no);
void engine_promise(struct engine *e, task_no no, msec_t wait_ms, msec_t told_ms);
/* The limit that a replay of what is there needs: a higher one where it was lowered. */
uint32_t engine_limit_read(const struct engine *e);
/* After a replay whose end may be missing: numbers that may have been given are not given
 * again: of tasks and of leases, so many each. */
void engine_skip(struct engine *e, uint32_t numbers);
/* The log has been written. */
void engine_log_reset(struct engine *e);
/* Memory of tasks, timers, names, ranks and queues; keys are counted apart. */
uint64_t engine_bytes(const struct engine *e);

/* ---- what happens by itself: delays and back-offs end, leases lapse, lives end ------ */

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
/* Says of the newest attempt its number and reason. */
void task_explain(struct engine *e, task_no no, const struct attempt *a);
/* No worker has seen the attempt: it does not count, and the task has its place in line as before. */
void task_attempt_unseen(struct engine *e, task_slot slot);
/* Frees what a task that was cut still held. */
void task_cut_ends(struct engine *e, task_slot slot);
/* A dead one waits again. As task_perform(). */
SQ_CHECK int task_redrive(struct engine *e, task_slot slot);
/* How often it may be tried, and in *b how long it waits in between: by its pool's rules, or its
 * own. */
unsigned task_most_attempts(const struct engine *e, task_slot slot, struct backoff *b);
/* Units that its start takes of rates and shares. */
static inline uint64_t task_cost(const struct engine *e, task_slot slot)
{
    return e->tree.has_costs ? own_cost(owns_of(&e->owns, slot)) : 1;
}
/* The attempt that runs took so many units (record SETTLED). 0 or SQ_ENOMEM: nothing has changed. */
SQ_CHECK int task_settle(struct engine *e, task_slot slot, uint64_t units);
/* The same of none, since it has not begun. Without memory they are gone. */
void task_give_back(struct engine *e, task_slot slot);
/* When a task that begins to wait now expires, for its record; 0: never. own: NULL: nothing. */
uint64_t task_expiry(const struct engine *e, const struct pool *p, const struct task_own *own);
/* The end of something that lasts so long; at least a millisecond, within what timers can. */
uint64_t task_end_of(const struct engine *e, uint64_t for_ms);

/* Calendar windows of a partition's rates: the wall clock says when one begins, and the record WINDOW: the
 * window that is running is over when the wall shows its end. A clock that goes back begins nothing; one that
 * was so far ahead that the window has not begun for a day and more was wrong (meter_is_over()).
 *
 * The number of a zone of rates, from 1; one that is new is written down, and has that of one which no rule has,
 * nor *taken: bits of the numbers of the rules to come, this one's too. SQ_ENOMEM; SQ_EFULL: too many. */
SQ_CHECK int engine_zone(struct engine *e, const char *name, uint32_t *taken);

#endif
