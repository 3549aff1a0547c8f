/* submit.h: a task is accepted, perhaps into several queues. Pure. */
#ifndef SEGQ_TASK_SUBMIT_H
#define SEGQ_TASK_SUBMIT_H

#include "task/engine/engine.h"

struct submit { /* texts are borrowed; n 0: none */
    struct trec_text queue, key1, key2;
    struct trec_text name; /* the caller's name for it */
    struct trec_text key;  /* Idempotency-Key */
    struct trec_text unique; /* a key that one task has at a time */
    enum unique_while unique_while;
    enum unique_conflict on_conflict;
    uint64_t digest;       /* digest of the payload: what "the same again" means */
    uint32_t bytes;        /* length of the payload */
    /* Called for a task that is new, and fits into queue, pool and partition: makes room beyond them, and keeps
     * the payload; *body is where, kept as it is. Not 0: it is refused with this code. NULL: the body is `body`. */
    int (*admit)(void *ctx, uint64_t *body);
    /* Then, when its number is known. Not 0: it is refused with this code. NULL: nobody needs it. */
    int (*named)(void *ctx, task_no no);
    void *ctx;
    uint64_t body;
    int64_t order;
    uint8_t priority;
    struct task_own own; /* all 0: nothing */
    struct trec_text group; /* group of its queue; n 0: none */
    struct trec_text offer; /* further queues in which it stands (submit.h): "b,c" */
    struct trec_text then; /* submitted when it succeeds (task/store/extras.h) */
    part_no after_part;    /* partition, */
    task_no after_no;      /* and number of the task of which it came; 0: of none */
    msec_t delay_ms;   /* 0: none */
    msec_t at_wall_ms; /* a moment of the wall clock; 0: none. Not with a delay */
};

/* 0: accepted, its number in *no. 1: the same again, or the one that has the unique key: the number
 * that it has (it may have gone). SQ_ECONFLICT: name or key mean a task with another payload, or different tasks.
 * SQ_EHELD: another task has the unique key. SQ_EFULL: queue or partition are full. SQ_EUNKNOWN: no pool matches. SQ_EINVAL: out of
 * range. SQ_ENOMEM, SQ_ESTALE. */
SQ_CHECK int engine_submit(struct engine *e, const struct submit *s, task_no *no);
/* A task that has succeeded has this behind it from now on. 0, SQ_ENOMEM; SQ_EUNKNOWN: it has gone. */
SQ_CHECK int engine_chain(struct engine *e, task_no no, const struct chain *is);
/* The task that a name means now; 0: none. */
task_no engine_named(const struct engine *e, const struct trec_text *queue,
                     const struct trec_text *name);

/* A task that stands in several queues of its pool: the first worker who takes it has it, and in that
 * moment it stands in none of the others (side_records.h). */

/* The next name of "b,c", which goes on behind it; n 0: there is none. */
struct trec_text offer_next(struct trec_text *list);
/* Finds the task for which the slot stands in a line: it starts there. */
task_slot offer_take(struct engine *e, task_slot place);

static inline bool submit_starts_at_once(const struct engine *e, const struct submit *s)
{
    return s->delay_ms == 0 && s->at_wall_ms <= e->wall_at;
}

/* Where nothing waits there is room for any that may start at once: what is larger than the bound would never get
 * in. One that waits for its time would shut the queue to all others until then; behind a task it was accepted
 * already, and comes in. */
static inline bool submit_fits_units(const struct engine *e, const struct pool *p, uint64_t there, const struct submit *s)
{
    uint64_t most = p->rules.max_waiting_units;
    bool may = submit_starts_at_once(e, s) || s->after_no != 0;

    return most == 0 || (there == 0 && may) || there + own_cost(&s->own) <= most;
}

#endif
