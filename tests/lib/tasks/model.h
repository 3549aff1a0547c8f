/* model.h: what somebody outside knows of the tasks, from answers alone, and the invariants
 * that must hold (tasks.md calls them J1 ...): each check names its own. */
#ifndef SEGQ_TASKS_MODEL_H
#define SEGQ_TASKS_MODEL_H

#include "tests/lib/tasks/shares.h"
#include "tests/lib/tasks/uniques.h"
#include "tests/lib/tasks/world.h"

#define MODEL_NAMES 64

enum known { /* of a task's end */
    KNOWN_OPEN,
    KNOWN_DONE,      /* an ack was answered */
    KNOWN_CANCELLED, /* a cancel was answered: no attempt begins any more */
    KNOWN_DOUBT,     /* somebody got no answer: look first */
};

struct mtask {
    task_no no;
    unsigned queue, key1, key2, name, priority; /* queue: that of the newest take */
    unsigned offer; /* bits of the queues in which it stands; 0: in one */
    enum known known;
    uint64_t digest, body, result;
    msec_t due;      /* not before; of the node's axis */
    msec_t wall;     /* not before, of the wall; 0: none */
    bool wall_seen;  /* the wall showed it once */
    struct task_own own;
    bool delayed, tried, redriven;
    bool tried_before; /* tried, before the newest lease */
    bool unseen; /* some attempt was; of two such ones either may go before the other */
    bool moved;  /* told to run, or of another priority now: so it may have been in front */
    uint64_t seq;    /* of its acceptance */
    msec_t retry_at; /* the next attempt not before */
    msec_t ended;    /* when the end was answered */
    bool read;
    /* the newest lease that was handed out */
    uint64_t lease;
    msec_t lease_until;
    unsigned attempts;
    msec_t began; /* of that lease */
    msec_t window[RATE_NPERS]; /* begin of the calendar windows in which it began */
    struct attempt given_back; /* the newest that was answered; end 0: none */
    bool first; /* told to run, and not known to have started */
    uint64_t charged; /* units, for the newest lease; */
    bool is_used;     /* as was said in truth, */
    bool is_unsure;   /* perhaps: a turn was lost */
    bool held; /* the worker has not said anything final of it */
};

/* What workers say when they give a task back: SAID_NACK's `priority` says which. */
extern const struct attempt model_says[3];

struct bucket { /* starts, as counted from outside */
    uint64_t id;
    double level;
    msec_t at; /* of a calendar window: its begin */
    bool calendar;
};

struct redriving { /* of a queue, as the newest order said */
    uint64_t per_1000_s; /* 0: any, or not known */
    double level;
    msec_t at;
};

#define THE_PARTITION UINT64_MAX /* as a limiter */

struct model {
    struct mtask *v; /* owned */
    unsigned n, cap;
    struct bucket *bucket; /* owned */
    unsigned n_buckets, buckets_cap;
    struct bucket *before; /* owned; as they were when the turn began */
    unsigned n_before, before_cap;
    uint64_t seq;
    task_no named[3][MODEL_NAMES]; /* by queue and name: the task that was answered; 0 */
    struct redriving redriving[3]; /* by queue */
    bool jumbled; /* what an operator put in front was unseen: it is in front again */
    struct shares shares;
    struct uniques uniques;
};

struct model *model_new(void);
void model_free(struct model *m);
struct mtask *model_find(struct model *m, task_no no);
/* The answers of a turn have gone out. */
void model_hears(struct world *w, const struct said *s);
/* Nobody got an answer: what was said may have happened, or not. */
void model_doubts(struct world *w, const struct said *s);
/* It is told to run: nothing keeps it from the next take. */
void model_runs(struct mtask *t, msec_t at);
/* A turn begins: what it takes of buckets may be lost. */
void model_begins_turn(struct model *m);
/* The node begins anew: buckets have what they had (J27), before the turn if it was lost. What redrives did
 * in such a turn is not known: theirs are full. */
void model_restarts(struct model *m, msec_t at, bool turn_lost);
/* Keys have other limits: their buckets may be full, and rounds begin anew. */
void model_redefined(struct model *m);
/* A dead task of the queue waits again, by itself. */
void model_redriven(struct world *w, unsigned queue);
/* The plan's, or the task's own. */
struct task_rules model_rules(const struct world *w, const struct mtask *t);
/* Does it stand in the queue while it waits? */
static inline bool model_is_in(const struct mtask *t, unsigned queue)
{
    return t->queue == queue || (t->offer >> queue & 1) != 0;
}
/* J36: units that wait in each of the plan's queues, counted anew, without those of the task `but`. */
void model_units(const struct world *w, task_slot but, uint64_t *sum);
/* A task starts, before its answer: order, limits, not early. */
void model_start(struct world *w, const struct said *s);
/* After a step: a sample, or all. */
void model_check(struct world *w, bool all);
/* The wall clock shows this. */
void model_wall(struct model *m, msec_t wall);

#endif
