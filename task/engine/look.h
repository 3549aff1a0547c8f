/* look.h: what callers and operators are told of tasks, keys and queues. Pure. */
#ifndef SEGQ_TASK_LOOK_H
#define SEGQ_TASK_LOOK_H

#include "common/task/state.h"
#include "task/engine/engine.h"

struct task_view { /* texts are borrowed until the next command */
    enum task_state state;
    const char *queue, *key1, *key2; /* "" if it has none */
    uint8_t priority;
    unsigned attempts;
    int64_t order;
    uint64_t body;
    msec_t started_ms; /* RUNNING, SUCCEEDED, CANCELLED: when its attempt began; 0: none */
    msec_t ended_ms;   /* SUCCEEDED, CANCELLED, EXPIRED: when */
    msec_t entered_ms; /* when it began to wait; SCHEDULED: when it was accepted */
    /* When its state ends by itself; 0: never. SCHEDULED and by_wall: of the wall. */
    msec_t until_ms; /* for a cut one: as far as is known (engine_look) */
    bool by_wall, stopping; /* stopping: it runs, and is not tried again */
    bool first;             /* waits, and was told to run now */
    uint64_t position;      /* WAITING: 1 = nobody of its queue entered before it; else 0 */
    uint32_t waiting;       /* WAITING: tasks in line in its queue */
    uint64_t turns;         /* WAITING: starts of its queue until its own, as far as is known */
    uint32_t ahead_of_key;  /* WAITING, by entry: before it in its line, at most AHEAD_MOST */
    uint64_t ahead_of_priority; /* WAITING: of its priority or above, of all keys, that entered before it */
    const struct task_own *own; /* NULL: nothing */
    const struct chain *chain;  /* NULL: no task is before or behind it */
    const struct progress *progress; /* newest word of its worker; NULL: none */
    bool is_settled;      /* the newest attempt */
    uint64_t cost_used;   /* took so many units */
    /* WAITING: what stops it now, on the lowest level that does */
    uint8_t limited;       /* enum closed, bits; 0: nothing */
    const char *limited_by; /* the queue's or key's name, the pool's pattern */
    msec_t limited_until;   /* the rate's next; 0: not known */
    enum task_eta eta; /* by what eta_ms is reckoned */
    bool young;        /* WAITING: the pace of its line is not known yet, but as that of a burst */
    int64_t eta_ms;    /* until it starts, or (DELAY) enters its line; -1: not known */
};

/* 0; SQ_EUNKNOWN: there is no such task. */
SQ_CHECK int engine_look(const struct engine *e, task_no no, struct task_view *v);

struct submit;
/* The line as a task of this queue, key and priority that is submitted now would find it: place, limits,
 * estimate. Where nobody knows the queue, it is the first. */
void engine_foresee(const struct engine *e, const struct submit *s, struct task_view *v);

/* The start after which its units have room (max_waiting_units), if those in line cost alike; eta_ms -1: not
 * known, or nobody is in line. */
void engine_foresee_room(const struct engine *e, const struct submit *s, struct task_view *v);

/* The same of a slot that has a task, without places and limits: those cost some steps. */
void look_at_task(const struct engine *e, task_slot slot, struct task_view *v);
/* Copies its ended attempts, the newest behind, and how it ended without one, into
 * v[ATTEMPTS_KEPT + 1]; how many. *earlier: those that are not kept. Texts are borrowed until the
 * next command. */
unsigned look_at_history(const struct engine *e, task_slot slot, struct attempt *v,
                         uint32_t *earlier);
/* How many bytes of its result are kept; 0, also if there is no such task. */
uint64_t engine_max_result(const struct engine *e, task_no no);
/* Has an attempt at it ever begun? False, also if there is no such task. */
bool engine_was_tried(const struct engine *e, task_no no);
/* Has a pool a max_wait? */
static inline bool engine_bounds_waits(const struct engine *e)
{
    bool any = false;

    for (uint32_t i = 0; i < e->n_pools; i++)
        any |= e->pool[i]->rules.max_wait_ms != 0;
    return any;
}
/* The rules of a queue, that may have no task; NULL: no pool matches. */
const struct task_rules *engine_rules_of(const struct engine *e, const struct trec_text *queue);

/* Starts and ends of the queue's tasks, from this first question on. NULL: no room. */
struct feed *engine_feed(struct engine *e, const struct trec_text *queue, struct feed_asker *a);

/* Which tasks are meant: of a queue, of a key of it and those below it, with a label. */
struct task_filter {
    struct trec_text queue, key1, key2; /* borrowed; keys: n 0: any */
    unsigned states;                    /* bits: 1 << enum task_state */
    struct trec_text label;             /* n 0: any, or none */
    bool any_queue;                     /* every queue is meant: `queue` is not read */
    msec_t since, until;                /* moments of the end, or else of the entry: from then, before then; 0: any */
};
#define LIST_STEPS 65536u /* slots that one call looks at: at most a millisecond or two */
/* Lists those in the states, in the order of their slots, from *at on: at most `most`, and as far as
 * LIST_STEPS go. *at: where the next call goes on; SLOT_NONE: it was the last. So a list of many
 * calls has each task once that is in one of the states all the time. How many. */
unsigned engine_list(const struct engine *e, const struct task_filter *f, task_slot *at,
                     task_no *out, unsigned most);

struct key_view { /* or a queue: key1 is its name, and all of its keys are counted */
    char key1[TASK_NAME_MAX + 1], key2[TASK_NAME_MAX + 1]; /* "": none */
    uint32_t waiting; /* for this very key: not for those below it */
    uint32_t running; /* and of those below it */
    uint8_t limited;  /* the key's own limiter: enum closed */
    msec_t limited_until; /* the rate's next; 0: not known */
    uint32_t dead;        /* for a queue */
    bool redriving;       /* for a queue */
};
/* The keys of a queue with the most tasks that wait, in *n rows of v, most of them first; *n
 * and *at are 0 at the first call, which goes on as engine_list() does. What changes between
 * two calls may be missing, or be there twice. */
void engine_top_keys(const struct engine *e, const struct trec_text *queue, uint32_t *at,
                     struct key_view *v, unsigned *n, unsigned most);
/* The same of the queues: those with the most tasks that wait or are dead; a call looks at `steps`. */
void engine_top_queues(const struct engine *e, uint32_t *at, uint32_t steps, struct key_view *v,
                       unsigned *n, unsigned most);
/* Views a queue; false: it has no task, and *v is zero but for its name. */
bool engine_queue_view(const struct engine *e, const char *name, struct key_view *v);
struct task_more { /* for who carries a task elsewhere that is not over */
    uint64_t place;         /* 1: nobody of its queue entered before it; 0: it is not in line */
    unsigned attempts_left; /* 0: none has begun */
    bool named;             /* a name, or a key, is there */
    const struct group *group; /* NULL: none */
};
void look_at_more(const struct engine *e, task_slot slot, struct task_more *m);
/* Makes room for one more of so many tasks that wait or are dead, in n rows, most of them first, behind
 * those that have as many; NULL: `most` others have more. */
struct key_view *key_view_room(struct key_view *v, unsigned *n, unsigned most, uint64_t tasks);

#endif
