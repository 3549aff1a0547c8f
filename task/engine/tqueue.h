/* tqueue.h: queues come with their first task and go with their last; their dead. Pure.
 * For the files of this room.
 *
 * A queue has a list of its dead (tasks without an attempt left), the one that died first in front:
 * O(1) to add and to remove. While it is redriven, it has a rate, and the last one that is meant;
 * what operators say of that is in change.h. */
#ifndef SEGQ_TASK_TQUEUE_H
#define SEGQ_TASK_TQUEUE_H

#include "task/engine/engine.h"

/* The pool of this very pattern; NULL: there is none. */
struct pool *tqueue_pool(const struct engine *e, const struct trec_text *match);
/* The one that a queue of this name has; NULL: there is none. */
struct pool *tqueue_pool_of(const struct engine *e, const struct trec_text *name);
/* NULL: it has no task. */
struct tqueue *tqueue_find(const struct engine *e, const char *name, uint32_t len);
/* Limits of keys have changed: every limiter gets its own anew. */
void tqueue_rules_anew(struct engine *e);
/* Only those of keys that are pinned in this list: a step for each of them. */
void tqueue_pins_anew(struct engine *e, const struct key_rules *k);
/* Made if there is none. 0 (its index in *index), SQ_EUNKNOWN: no pool matches; SQ_ENOMEM;
 * SQ_ECONFLICT: another name has the same hash. */
SQ_CHECK int tqueue_get(struct engine *e, const struct trec_text *name, uint32_t *index);
/* Lets it go if it has no task. */
void tqueue_tidy(struct engine *e, uint32_t index);
/* Gives back the slot of what belongs to it; the queue goes with the last one. */
void tqueue_leave(struct engine *e, task_slot slot);
/* The turn of a key in it; made if there is none. 0: no memory, or too many keys. Nothing is
 * left behind then. */
uint32_t tqueue_turn(struct engine *e, uint32_t index, uint8_t priority,
                    const struct trec_text *key1, const struct trec_text *key2);
/* The limiter of a queue (keys ""), or of a key in it; made if there is none, perhaps without a turn. 0: no
 * pool has the queue, or no memory. */
uint32_t tqueue_limiter(struct engine *e, const struct trec_text *name, const struct trec_text *key1,
                        const struct trec_text *key2);
/* The turn of the task's key and another priority, made if there is none; if it waits, its row has room for
 * that. 0: no memory. */
uint32_t tqueue_other_turn(struct engine *e, task_slot slot, uint8_t priority);
/* The limiter of a key below another one; 0: there is none. */
uint32_t tqueue_key(const struct engine *e, uint32_t parent, const struct trec_text *key);
/* The index of a task's queue. */
uint32_t tqueue_index(const struct engine *e, task_slot slot);
/* The whole number of its entry, of which the task has the low bits. */
uint64_t tqueue_entry(const struct tqueue *q, const struct task *t);

static inline struct tqueue *tqueue_at(const struct engine *e, uint32_t index)
{
    return pages_at(&e->queues, index);
}

/* The queue of a task. */
static inline struct tqueue *tqueue_of(const struct engine *e, task_slot slot)
{
    return tqueue_at(e, tqueue_index(e, slot));
}

static inline const struct task_rules *tqueue_rules(const struct engine *e, task_slot slot)
{
    return &tqueue_of(e, slot)->pool->rules;
}

/* Sets it as task_set_state() does; units of those that wait are counted. */
void tqueue_set_state(struct engine *e, task_slot slot, enum task_state to);
/* The same, of a task of this queue, to WAITING. */
void tqueue_begins_to_wait(struct engine *e, struct tqueue *q, task_slot slot);
/* Counts units of a task that waits: they come, or go. */
void tqueue_count_units(struct engine *e, task_slot slot, uint64_t come, uint64_t go);

/* Adds a dead one: behind all others. */
void dead_add(struct engine *e, task_slot slot);
void dead_remove(struct engine *e, task_slot slot);
/* Smaller for who died earlier; for its record. */
uint64_t dead_place(const struct engine *e, task_slot slot);
/* Applies REDRIVING, like task_apply(). */
SQ_CHECK int dead_apply_redriving(struct engine *e, const struct trec *r);
struct rate dead_rate(const struct tqueue *q);
void dead_write_redrives(const struct engine *e, struct buf *out);
/* After a replay: no redrive begins with a full bucket. */
void dead_empty_buckets(struct engine *e);

#endif
