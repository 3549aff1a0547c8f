/* extras.h: what few tasks have beside their row: options of their own, a task behind them, several places,
 * attempts that failed. Pure. A task without any costs nothing, and while none has any, nothing is looked up.
 *
 * Options: equal ones are kept once, so a task costs 16 to 32 bytes more, however much it has. */
#ifndef SEGQ_EXTRAS_H
#define SEGQ_EXTRAS_H

#include "common/base/map.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "task/store/store.h"

struct owned_by_tasks {
    struct task_own own; /* with owned labels */
    uint64_t hash;
    uint32_t tasks; /* tasks that have it; 0: the index is free, */
    uint32_t next;  /* and this is the next free one, index + 1 */
};

struct owns {
    struct pages v; /* owned; of struct owned_by_tasks */
    struct map by_slot; /* -> index */
    struct map by_hash; /* -> index, as far as two have not the same */
    uint32_t n, free;
};

void owns_init(struct owns *o);
void owns_fini(struct owns *o);
/* The slot's task has this from now on. 0 or SQ_ENOMEM: nothing has changed. */
SQ_CHECK int owns_set(struct owns *o, task_slot slot, const struct task_own *own);
void owns_drop(struct owns *o, task_slot slot);
uint64_t owns_bytes(const struct owns *o);

/* NULL: nothing. Borrowed until the slot's task goes, or gets something else. */
static inline const struct task_own *owns_of(const struct owns *o, task_slot slot)
{
    uint64_t i = o->by_slot.n > 0 ? map_get(&o->by_slot, slot) : MAP_NONE;

    return i == MAP_NONE ? NULL : &((struct owned_by_tasks *)pages_at(&o->v, (uint32_t)i))->own;
}

/* Which tasks have another one behind them, which is submitted when they succeed; and which
 * came of another one. Pure. A task without costs nothing, and while no task has any, nothing is
 * looked up; one with costs 16 to 32 bytes and sizeof(struct chain), and what is to be submitted. */

struct chain {
    part_no after_part, next_part; /* partitions of those two; next: 0: there is none yet */
    task_no after_no, next_no;     /* after: 0: it came of none */
    uint8_t state; /* enum chain_state */
    uint8_t why;   /* FAILED: enum chain_why */
    uint32_t n;
    char *then; /* owned; WAITS: a message TASK_PUT of one row, encoded, of n bytes; else NULL */
};

struct chains {
    struct map by_slot; /* -> struct chain, owned */
    uint64_t bytes;     /* bytes of all of them */
};

void chains_init(struct chains *c);
void chains_fini(struct chains *c);
/* The slot's task has this from now on; `then` is copied. 0 or SQ_ENOMEM: nothing has changed.
 * It needs no memory if the task has one, and n is 0. */
SQ_CHECK int chains_set(struct chains *c, task_slot slot, const struct chain *is);
void chains_drop(struct chains *c, task_slot slot);
/* Nothing comes of it: its task is over, and has not succeeded. */
void chains_end(struct chains *c, task_slot slot);

uint64_t chains_bytes(const struct chains *c);

/* NULL: nothing. Borrowed until the slot's next change. */
static inline const struct chain *chains_of(const struct chains *c, task_slot slot)
{
    return c->by_slot.n > 0 ? map_get_ptr(&c->by_slot, slot) : NULL;
}

/* Tasks that stand in several queues at once.
 *
 * Such a task has a *place* in each of its queues. In one of them it stands itself; in each of the others a
 * slot of the store stands for it: one with a number and a turn, but FREE, which is no task: nobody counts it,
 * lists it, or finds it by its number. While the task waits, all of its places do; else none. */

struct offer_place {
    task_slot slot; /* slot that stands there: the task's own, or one for it */
    uint64_t entry; /* number in the row of the queue, also while it is held; 0: none yet, or any more */
};

struct offer {
    task_slot task;
    uint8_t n;   /* places; the first is that of the queue named first */
    uint8_t own; /* where the task is itself: the first, but from a start to the end of the attempt */
    uint8_t at;  /* where its next start is */
    struct offer_place v[OFFER_QUEUES];
};

struct offers {
    struct map by_slot; /* slot of a task, and of each of its places -> struct offer *; owned by the task */
    struct offer *next; /* owned; of the task that is accepted next; NULL: it has none */
    uint32_t n;
    uint32_t places; /* slots that stand for tasks */
    size_t log_len;  /* length of the log before the places of the next task; likewise: */
    msec_t logged_at;
    uint64_t order;
};

void offers_init(struct offers *o);
void offers_fini(struct offers *o);
/* A place of the task that comes next. slot: SLOT_NONE: its own. 0; SQ_ENOMEM; SQ_EPROTO: too many. */
SQ_CHECK int offers_add(struct offers *o, task_slot slot, uint64_t entry);
/* The places of the next task are this one's. 0; SQ_ENOMEM. */
SQ_CHECK int offers_adopt(struct offers *o, task_slot task);
/* They are of the next one again. */
void offers_orphan(struct offers *o, struct offer *f);
/* Forgets it: also that of the next task. */
void offers_drop(struct offers *o, struct offer *f);
uint64_t offers_bytes(const struct offers *o);

/* NULL: it is not offered. */
static inline struct offer *offers_of(const struct offers *o, task_slot slot)
{
    return o->n > 0 ? map_get_ptr(&o->by_slot, slot) : NULL;
}

/* The attempts at tasks that failed: the newest of each, and how many there were before
 * them. Pure. A task without a failed attempt costs nothing; one with some, 40 bytes and 15 for
 * each, and what workers said: at most ATTEMPTS_BYTES. What finds no memory is not kept.
 * Beside them: the reply of the target to the newest attempt that failed with an answer. */

#define ATTEMPTS_BYTES 480u /* bytes of a task's attempts: with long reasons there are fewer */

struct attempts {
    struct map by_slot; /* -> struct past, owned */
    uint64_t bytes;     /* bytes of all of them */
};

struct past { /* attempts of a task */
    uint32_t earlier; /* attempts that are not kept */
    uint32_t len;
    uint8_t bytes[]; /* bytes of attempts, the oldest first */
};

void attempts_init(struct attempts *h);
void attempts_fini(struct attempts *h);
/* Adds an attempt; the oldest goes if there are too many. */
void attempts_add(struct attempts *h, task_slot slot, const struct attempt *a);
/* Adds to the newest one what the worker said, or the target's number. */
void attempts_explain(struct attempts *h, task_slot slot, uint32_t number, const char *reason,
                     uint32_t n);
void attempts_drop(struct attempts *h, task_slot slot);
/* Reads the bytes of a record. 0, SQ_ENOMEM, SQ_EPROTO: these are not attempts. */
SQ_CHECK int attempts_load(struct attempts *h, task_slot slot, uint64_t earlier, const void *p,
                          uint32_t n);
uint64_t attempts_bytes(const struct attempts *h);
/* Into v[ATTEMPTS_KEPT], the oldest first; how many. Reasons are borrowed until the next change. */
unsigned attempts_of(const struct attempts *h, task_slot slot, struct attempt *v, uint32_t *earlier);

/* NULL: none. */
static inline const struct past *attempts_past(const struct attempts *h, task_slot slot)
{
    return h->by_slot.n > 0 ? map_get_ptr(&h->by_slot, slot) : NULL;
}

/* Which tasks have a reply, and where it is: what the target said to the newest attempt that failed
 * with an answer. Pure. A task without one costs nothing; one with it, 16 to 32 bytes. */

struct replies {
    struct map by_slot; /* -> its reference: the shell's, as that of a body */
};

void replies_init(struct replies *r);
void replies_fini(struct replies *r);
/* ref: neither 0 nor MAP_NONE. 0 or SQ_ENOMEM: nothing has changed. */
SQ_CHECK int replies_set(struct replies *r, task_slot slot, uint64_t ref);
void replies_drop(struct replies *r, task_slot slot);
uint64_t replies_bytes(const struct replies *r);

/* 0: none. */
static inline uint64_t replies_of(const struct replies *r, task_slot slot)
{
    uint64_t ref = r->by_slot.n > 0 ? map_get(&r->by_slot, slot) : MAP_NONE;

    return ref != MAP_NONE ? ref : 0;
}

/* Units that the newest attempt at a task took, where that is known (record SETTLED). Pure. A task without
 * costs nothing; one with it, 16 to 32 bytes. */

struct settled {
    struct map by_slot;  /* -> units */
    uint64_t more, back; /* units that all of them were charged beyond their costs; that they were given back */
};

void settled_init(struct settled *s);
void settled_fini(struct settled *s);
SQ_CHECK int settled_set(struct settled *s, task_slot slot, uint64_t units);
void settled_drop(struct settled *s, task_slot slot);
uint64_t settled_bytes(const struct settled *s);

/* False: it is not known. */
static inline bool settled_of(const struct settled *s, task_slot slot, uint64_t *units)
{
    *units = s->by_slot.n > 0 ? map_get(&s->by_slot, slot) : MAP_NONE;
    return *units != MAP_NONE;
}

#endif
