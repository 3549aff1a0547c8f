/* names.h: what callers call their tasks: names and Idempotency-Keys of all queues of a
 * partition, and which task each means. Pure.
 *
 * One entry per name: a keyed hash of 128 bits over (queue, kind, text) stands for the
 * text; the digest of the payload tells "the same again" from a mistake. A name lives as
 * long as its task; a key also for a while after its task's end, and then means a task that
 * may have gone. A unique key (common/task/rules.h) is one more name; it may pass to another task. */
#ifndef SEGQ_TASK_NAMES_H
#define SEGQ_TASK_NAMES_H

#include "common/base/map.h"
#include "common/task/rules.h"
#include "task/containers/pages.h"
#include "task/containers/wheel.h"
#include "task/store/store.h"

enum name_kind { /* numbers are those of records: never changed */
    NAME_NAME,
    NAME_KEY,
    NAME_UNIQUE, /* a unique key, until its task begins; and the next two: */
    NAME_UNIQUE_RUNNING = NAME_UNIQUE + UNIQUE_RUNNING, /* until it is final */
    NAME_UNIQUE_FINAL = NAME_UNIQUE + UNIQUE_FINAL,     /* names of a task while it is kept */
    NAME_NKINDS
};
#define NAMES_OF_TASK (NAME_UNIQUE + 1) /* names that a task may have */
#define NAMES_SEED 16

struct name_hash {
    uint64_t lo, hi; /* both 0: no name */
};

struct name {
    struct name_hash hash;
    uint64_t digest; /* digest of the payload */
    task_no no;      /* 0: the entry is free, and `more` is the next free one + 1 */
    uint32_t more;   /* the task's next name, index + 1 */
    uint8_t kind;
};

struct names {
    struct pages v;     /* owned; of struct name */
    struct pages links; /* owned; of the wheel */
    struct wheel ends;  /* keys whose task has ended */
    struct map by_hash; /* hash.lo -> index */
    struct map by_task; /* number -> index of its first name */
    uint32_t n_slots, free, n, max;
    uint32_t n_begin; /* number of NAME_UNIQUE ones that go when their task begins */
    uint8_t seed[NAMES_SEED];
};

void names_init(struct names *t, uint32_t max, const uint8_t seed[NAMES_SEED], msec_t now);
void names_fini(struct names *t);
struct name_hash names_hash(const struct names *t, enum name_kind kind, const char *queue,
                            size_t queue_len, const char *text, size_t len);
/* NULL: it means no task. Borrowed until the next change. */
const struct name *names_find(const struct names *t, struct name_hash h);
/* The name must mean no task. SQ_ENOMEM, SQ_EFULL; SQ_ECONFLICT: two texts have the same first
 * half of their hash (once in some 10^6 partitions with 10^7 names). Nothing has changed then. */
SQ_CHECK int names_add(struct names *t, enum name_kind kind, struct name_hash h, task_no no,
                       uint64_t digest);
/* Gives its task another name, or none, from now on. */
void names_drop(struct names *t, const struct name *n);
/* The task begins. */
void names_begin(struct names *t, task_no no);
/* The task is final: its keys end at `until`. */
void names_end(struct names *t, task_no no, msec_t until);
/* Undoes the end (redriven). */
void names_live(struct names *t, task_no no);
/* The task has gone: its names go, its keys stay until their end. */
void names_gone(struct names *t, task_no no);
/* Keys whose end has come go. */
void names_advance(struct names *t, msec_t now);

#endif
