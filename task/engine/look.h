/* look.h: what callers and operators are told of a task. Pure. */
#ifndef SEGQ_TASK_LOOK_H
#define SEGQ_TASK_LOOK_H

#include "task/engine/engine.h"


struct task_view { /* texts are borrowed until the next command */
    enum task_state state;
    const char *queue, *key1, *key2; /* "" if it has none */
    uint8_t priority;
    unsigned attempts;
    int64_t order;
    uint64_t body;
    msec_t entered_ms; /* when it began to wait; SCHEDULED: when it was accepted */
    /* When its state ends by itself; 0: never. SCHEDULED and by_wall: of the wall. */
    msec_t until_ms;
    bool by_wall, stopping; /* stopping: it runs, and is not tried again */
    uint64_t position;      /* WAITING: 1 = nobody of its queue entered before it; else 0 */
    uint32_t ahead_of_key;  /* WAITING, by entry: before it in its line, at most AHEAD_MOST */
    /* WAITING: what stops it now, on the lowest level that does */
    uint8_t limited;       /* enum closed, bits; 0: nothing */
    const char *limited_by; /* the queue's or key's name */
    msec_t limited_until;   /* the rate's next; 0: not known */
};

/* 0; SQ_EUNKNOWN: there is no such task. */
SQ_CHECK int engine_look(const struct engine *e, task_no no, struct task_view *v);

/* The same of a slot that has a task, without places and limits: those cost some steps. */
void look_at_task(const struct engine *e, task_slot slot, struct task_view *v);

struct queue_view {
    uint32_t tasks;   /* in any state */
    uint64_t waiting;
    uint32_t running;
    uint8_t limited;  /* the queue's own limiter: enum closed */
};
/* 0; SQ_EUNKNOWN: it has no task. */
SQ_CHECK int engine_look_queue(const struct engine *e, const struct trec_text *queue,
                               struct queue_view *v);

#endif
