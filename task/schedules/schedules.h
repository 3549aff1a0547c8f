/* schedules.h: the schedules of a partition: definitions, what came of their last ticks, and the
 * tasks that are to be made now. Pure.
 *
 * A schedule lives in the partition of its queue, and its owner fires it: the record TICK stands in
 * the same group of the journal as the task that the tick makes, so there are both or neither,
 * whatever is killed, moved or restarted, and no manager has a part in it (J13). The task has the
 * Idempotency-Key NAME@SECONDS besides: a tick that comes again because its schedule was deleted,
 * made anew and the clock set back is the same task.
 *
 * Definitions are kept as the message that made them (common/wire). A definition that changes counts
 * from that moment on: what was due before it and was not fired is not made up for. So does one whose
 * newest tick lies more than a day ahead of the clock, which was wrong.
 *
 * Records go through schedules_apply() alone, now as in a replay. Without memory a command has changed
 * nothing; when the log has no memory, log->failed is set, as the engine's. Moments: Unix ms. */
#ifndef SEGQ_TASK_SCHEDULES_H
#define SEGQ_TASK_SCHEDULES_H

#include "common/base/memory.h"
#include "common/base/metrics.h"
#include "common/wire/msg.h"
#include "task/store/record.h"

struct task_schedule {
    uint64_t id;  /* number in its records, never another's */
    struct buf bytes;   /* owned: the definition, encoded; */
    struct arena mem;   /* owned: decoded */
    const struct msg_task_schedule *def;
    struct recur recur;
    int64_t last_ms;  /* the newest tick that was dealt with, or the moment of the definition */
    int64_t fired_ms; /* the newest that made a task; 0: none has */
    task_no no;       /* the task of it */
    uint8_t outcome;  /* enum tick_outcome: of last_ms */
    int64_t next_ms;  /* RECUR_NEVER: none; 0: has to be computed */
    int64_t again_ms; /* no room for the task that is due, or an unknown zone: not before this */
};

struct schedules_counts { /* ever, since the start of the process */
    uint64_t fired, skipped, missed, refused;
    struct histo late; /* lateness of ticks that fired */
};

struct schedules {
    const struct zones *zones; /* ref; NULL: only UTC */
    struct task_schedule **v;       /* owned */
    uint32_t n, cap;
    uint64_t next_id;
    int64_t due_ms; /* nothing is due before this; 0: has to be computed */
    int64_t seen_ms; /* the clock at the newest turn; 0: there was none yet */
    struct schedules_counts counts;
};

struct schedules_host { /* the partition's tasks */
    /* Submits, like engine_submit() of a row. */
    int (*submit)(void *ctx, const struct task_put *put, task_no *no);
    enum task_state (*state)(void *ctx, task_no no); /* TASK_FREE: it has gone */
    void (*cancel)(void *ctx, task_no no);
    /* The task that this Idempotency-Key means; 0: none. */
    task_no (*keyed)(void *ctx, const char *queue, const char *key, uint32_t n);
    void *ctx;
};

void schedules_init(struct schedules *s, const struct zones *zones);
void schedules_fini(struct schedules *s);

static inline bool schedules_has_record(unsigned kind)
{
    return kind == TREC_SCHEDULE || kind == TREC_TICK;
}
/* 0, SQ_ENOMEM: nothing has changed; SQ_EPROTO, SQ_EUNKNOWN: it contradicts the state, or a newer
 * segq wrote it. */
SQ_CHECK int schedules_apply(struct schedules *s, const struct trec *r);
/* Appends the whole state, framed (record.h). Without memory out->failed is set. */
void schedules_snapshot(const struct schedules *s, struct buf *out);
/* Carries it out, and puts it into the log. As schedules_apply(). */
SQ_CHECK int schedules_perform(struct schedules *s, const struct trec *r, struct buf *log);

/* Fires what is due at wall_ms. */
void schedules_advance(struct schedules *s, const struct schedules_host *h, int64_t wall_ms,
                       struct buf *log);
/* Fires it now, by hand: no tick is, and none moves; overlap holds, and its task is the newest. key:
 * once for this one; n 0: each time. The task into *no; < 0: as submit. */
SQ_CHECK int schedules_run(struct schedules *s, struct task_schedule *k,
                           const struct schedules_host *h, struct bytes_of key, enum schedule_run *ran,
                           task_no *no, struct buf *log);
/* Until something is due; MSEC_NEVER. */
msec_t schedules_idle_ms(struct schedules *s, int64_t wall_ms);

uint64_t schedules_bytes(const struct schedules *s);

#endif
