/* tree.h: whose turn it is: queues, their keys, their limits, their shares. Pure.
 *
 * Two kinds of things, found by index (0 = none).
 *
 * A *limiter* belongs to a queue, or to a key below another limiter: rate (rate.h), tasks at
 * once, pause; for all priorities together. It is closed while one of these stops it. A task
 * that starts is counted in the limiters of its key, of the key above, and of the queue.
 *
 * A *turn* belongs to a limiter and a priority: the line of its own tasks, and the turns below it.
 * Its *ring* has what can be served now: the turns below it that are open (limiter not closed, ring
 * not empty), and its own line if somebody is in it; the tree's ring has the turns of queues. A
 * ring is gone round by deficit round robin (M. Shreedhar, G. Varghese, 1996): an item is served until
 * it has had `weight` units, then the next; what its last task cost beyond them it owes, and is passed
 * over for as many rounds (ring.h). Where every task costs one it is served `weight` times.
 *
 * Rates in units (rate.h) depend on what the next task costs: they close a limiter when its next one
 * does not fit (tree_affords()), until it does. So nothing smaller goes before it, and it starts. Where
 * another task may be next (it leaves the line, or one comes to the head of one) they are asked anew.
 *
 * A rate with a calendar window (buckets.h) has no bucket: units are counted until the next one begins.
 *
 * A limiter that closes takes its turns out of their rings; one that opens puts them back;
 * upwards as far as a ring becomes empty, or is no longer. So to find the next task costs a
 * step per level and priority, however many keys are closed: they cost nothing.
 *
 * Between priorities goes the one whose next task has the smallest `entered - head start`;
 * and of the key so found the task for which this is smallest in all priorities of the key:
 * so inside a key nobody is overtaken by anybody who came later by more than the difference
 * of the head starts.
 *
 * A limiter without turns goes when its bucket is full again: no limit is reset by emptying
 * a line. Memory: 64 bytes and its text a limiter, 72 a turn, 32 for finding them. */
#ifndef SEGQ_TASK_TREE_H
#define SEGQ_TASK_TREE_H

#include "common/base/err.h"
#include "common/base/map.h"
#include "common/task/state.h"
#include "task/containers/rate.h"
#include "task/containers/wheel.h"
#include "task/keys/line.h"
#include "task/keys/trial.h"

struct key_rule { /* borrowed: it outlives the limiters that have it */
    struct rate rate;
    struct unit_rate units[UNIT_RATES_MAX]; /* the first ones; all must let it pass */
    uint32_t at_once; /* tasks that run at the same time; 0: any number */
    uint16_t weight;  /* among its neighbours, at least 1 */
    bool paused;      /* nothing starts */
};

struct limiter {
    const struct key_rule *rule; /* NULL: the index is free */
    char *text;       /* owned; its key, 0-terminated */
    uint64_t hash;    /* hash of its key, below its parent */
    int64_t tat;      /* rate.h */
    uint32_t parent;  /* the key above, or the queue's; free: the next free one */
    uint32_t turns;   /* the first one */
    uint32_t below;   /* limiters whose parent it is */
    uint32_t running; /* tasks of it and below it */
    uint8_t closed;   /* enum closed, bits */
    uint32_t queue;   /* the owner's name for the queue that it is part of */
};

struct unit_bucket { /* beside a limiter, once some rule has rates in units */
    int64_t tat[UNIT_RATES_MAX]; /* rate.h; of a calendar window: units that are taken of the one that is running */
    uint32_t needs; /* closed: until so many units pass; 0: until nothing is owed */
    uint8_t window[UNIT_RATES_MAX]; /* windows of the rates of its rule */
    uint8_t odd; /* 1 << rate: what is taken is of a window with an odd number: windows_forget() */
};

struct turn {
    uint32_t limiter; /* 0: the index is free */
    uint32_t parent;  /* the turn above; 0: of a queue, in the tree's ring. Free: the next free one */
    uint32_t sibling; /* the next turn of its limiter */
    uint32_t ring;    /* the item that is served; 0: empty */
    uint32_t next[2], prev[2]; /* items: as one of its parent's ring, and its line in its own */
    int16_t left[2]; /* units for which the item is still served now; below 0: of the next round */
    struct line line;
    uint32_t tasks; /* whose turn it is, in any state */
    uint32_t below; /* turns whose parent it is */
    uint32_t busy;  /* strict: tasks of it that are neither waiting nor final */
    uint8_t priority;
    bool strict;    /* line stands while busy */
    bool by_order;
    uint8_t asleep; /* 1 << item & 1: it is in its ring, and passed over (ring.h) */
};

struct tree {
    struct task_store *store; /* ref */
    struct pages limiters, turns, links; /* owned; links: of `wakes` */
    struct pages buckets, debts; /* owned; struct unit_bucket, turn_debt: once there are units, costs */
    struct windows *windows; /* owned; NULL: no rate has one */
    bool has_units, has_costs;
    struct wheel wakes; /* limiters: their rate opens, or their bucket is full */
    struct map by_hash;
    uint32_t ring; /* ring of the queues' turns: for who takes from any queue (ring.h) */
    uint32_t n_limiters, n_turns;       /* indices ever used */
    uint32_t free_limiter, free_turn;   /* index; 0: none */
    uint32_t limiters_now, turns_now, max_limiters;
    msec_t now, emptied; /* moments of the last tree_advance, tree_empty_buckets */
    uint64_t steps; /* steps of all work: the cost of a pick is seen here */
    uint64_t misfits; /* limiters that tree_affords() has closed: each is one more pick */
    struct trial *trial; /* ref; NULL: this is the live one */
};

void tree_init(struct tree *t, struct task_store *s, uint32_t max_limiters, msec_t now);
void tree_fini(struct tree *t);

/* Before a rule that has rates in units, before a task that costs more than one. 0 or SQ_ENOMEM. */
SQ_CHECK int tree_reach_units(struct tree *t);
SQ_CHECK int tree_reach_costs(struct tree *t);

struct key_name {
    const char *text;
    uint32_t len;
    uint64_t hash; /* keyed: two texts with the same one share a limiter */
};
/* The limiter of a queue (parent 0) or of a key below another one. 0: there is none. */
uint32_t tree_find_limiter(const struct tree *t, uint32_t parent, uint64_t hash);
/* Makes the one that is not there. 0: no memory, or max_limiters are there. */
uint32_t tree_new_limiter(struct tree *t, uint32_t parent, const struct key_name *k,
                          const struct key_rule *r);
struct turn_kind {
    uint8_t priority;
    bool strict, by_order;
};
/* The turn of a limiter and a priority below the parent's; made if there is none. 0: no memory. */
uint32_t tree_turn(struct tree *t, uint32_t limiter, uint32_t parent, struct turn_kind kind);
/* Lets go of what was made and got no task: a turn and what is above it, a limiter (0: none). */
void tree_tidy(struct tree *t, uint32_t turn, uint32_t limiter, msec_t now);

/* A task belongs to a turn from its acceptance to its end. */
void tree_join(struct tree *t, task_slot slot, uint32_t turn);
void tree_leave(struct tree *t, task_slot slot, msec_t now);
enum wait_at {
    WAIT_LAST,     /* at the end of its line */
    WAIT_FIRST,    /* in front: it was there before: a retry of a strict line, or taken by nobody */
    WAIT_BY_ENTRY, /* behind those that entered before it: it comes from another line */
};
/* Begins to wait. A line by order has its own places. */
void tree_wait(struct tree *t, task_slot slot, enum wait_at where);
/* Ends its wait, without a start. */
void tree_unwait(struct tree *t, task_slot slot);
/* Do the rates in units of its key, and of those above it, let it start? False: the lowest one that does
 * not is closed until it does. */
bool tree_affords(struct tree *t, task_slot slot, uint64_t cost, msec_t now);
/* Starts it: it leaves its line, if it is in one, and is counted in all limiters above. */
void tree_start(struct tree *t, task_slot slot, bool in_line, uint64_t cost, msec_t now);
/* Resumes, like tree_start, a task that was running (or between two attempts) when the state was
 * written down: it is in no line, and no rate pays. */
void tree_resume(struct tree *t, task_slot slot, bool runs);
/* Ends its run. final: its line need not stand for it any more. */
void tree_end(struct tree *t, task_slot slot, bool final);
/* Gives it up (it does not run): its line need not stand for it any more. */
void tree_give_up(struct tree *t, task_slot slot);

/* A start of `was` units took `used`: the rates in units of its key, and of those above it, are charged the
 * difference, or given it back; so are the shares that have `paid`. */
void tree_settle(struct tree *t, task_slot slot, uint64_t was, uint64_t used, bool paid, msec_t now);

struct level { /* moments at which buckets of a limiter would be full again */
    int64_t starts, units[UNIT_RATES_MAX]; /* rate.h; of a calendar window: units that are taken */
};
/* False: all are full. */
bool tree_level(const struct tree *t, uint32_t limiter, msec_t now, struct level *l);
/* The limiter was just made, by a snapshot; its rates let start what they did when that was written. */
void tree_set_level(struct tree *t, uint32_t limiter, const struct level *l, msec_t now);

/* Rates that let the next one pass are opened. Then: tree_next(). */
void tree_advance(struct tree *t, msec_t now);
msec_t tree_next(const struct tree *t);
/* Rules have changed: every limiter is closed or open as its own says now. */
void tree_reconsider(struct tree *t, msec_t now);
/* The rule of this one has. */
void tree_reconsider_one(struct tree *t, uint32_t limiter, msec_t now);
/* After a replay whose end may be missing: all buckets are empty, also of keys that nobody has now:
 * their last start may have been just before. What is owed in units stays owed. */
void tree_empty_buckets(struct tree *t, msec_t now);

static inline struct turn *tree_turn_at(const struct tree *t, uint32_t turn)
{
    return t->trial == NULL ? pages_at(&t->turns, turn) : trial_at(t->trial, TRIAL_TURNS, turn);
}

static inline struct limiter *tree_limiter_at(const struct tree *t, uint32_t limiter)
{
    return t->trial == NULL ? pages_at(&t->limiters, limiter) : trial_at(t->trial, TRIAL_LIMITERS, limiter);
}

/* Counts how many of those that wait are held up, and by what: adds the tasks of some turns, from
 * *at on (1: the first): a step per turn, not per task. A task counts once: for the lowest level
 * that is closed. *at: where the next call goes on; 0: it was the last. */
void tree_held(const struct tree *t, uint32_t *at, uint32_t steps, uint64_t held[TASK_NHOLDS]);

#endif
