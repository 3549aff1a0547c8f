/* store.h: the tasks of a partition, a slot of 48 bytes for each; their names; and what their
 * workers say of them while they run. Pure.
 *
 * A task's number is what tokens and records name: the order of its acceptance (40 bits,
 * from 1) and its slot (24 bits). So number -> slot is arithmetic, and since the slot has
 * the order, too, an old number never means the task that has the slot now.
 *
 * Slots never move. The store owns them; the links and `turn` belong to task/keys. */
#ifndef SEGQ_TASK_STORE_H
#define SEGQ_TASK_STORE_H

#include "common/base/map.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "task/containers/wheel.h"
#include "task/store/queue_extras.h"

/* ---- words of workers ---------------------------------------------------------------- */

/* Words of workers about the attempts that run: how far these are.
 *
 * In memory alone. No record has it, so an update costs no write: a process that begins anew, and another
 * owner, know nothing until the worker speaks again. It goes with its attempt: task_set_state() (store.h)
 * drops it. A task without costs nothing, one with it 60 bytes and what was said. */

#define PROGRESSES_BYTES (16u << 20) /* bytes that a partition keeps */

struct worker_said { /* borrowed */
    uint8_t percent; /* the value + 1; 0: not said */
    const char *text, *data; /* UTF-8; a JSON value; n 0: none */
    uint32_t text_n, data_n;
};

struct progress { /* newest word of a task's worker */
    msec_t at;
    uint64_t serial; /* rises with each update */
    uint8_t percent;
    uint16_t text_n, data_n;
    char bytes[]; /* text, then data */
};

struct progresses {
    struct map by_slot; /* -> struct progress, owned */
    uint64_t bytes;     /* bytes of all of them */
    uint64_t serial;
};

void progresses_init(struct progresses *p);
void progresses_fini(struct progresses *p);
/* In place of what was said before. 0; SQ_EINVAL: too long; SQ_ENOMEM: nothing has changed. */
SQ_CHECK int progresses_set(struct progresses *p, uint32_t slot, const struct worker_said *s, msec_t at);
uint64_t progresses_bytes(const struct progresses *p);

/* NULL: nothing was said. Borrowed until the next update of the task, or its end. */
static inline const struct progress *progress_of_slot(const struct progresses *p, uint32_t slot)
{
    return p->by_slot.n > 0 ? map_get_ptr(&p->by_slot, slot) : NULL;
}

/* ---- tasks --------------------------------------------------------------------------- */

#define TASK_ORDER_MAX (((uint64_t)1 << 40) - 1)
#define SLOT_NONE      UINT32_MAX

typedef uint32_t task_slot;

struct task {
    union {
        struct { /* in a line, or free (prev, next: the row of free slots) */
            uint32_t prev, next; /* slot + 1; 0: none */
        };
        uint64_t lease; /* RUNNING: the number of the start; no other start has it */
        struct {
            uint64_t ended : 42;     /* SUCCEEDED, CANCELLED, EXPIRED: when */
            uint64_t start_low : 22; /* SUCCEEDED: see task_done_start() */
        };
    };
    union {
        struct {
            uint32_t child; /* in a line by `order`: slot + 1 */
            uint32_t entry; /* low bits: WAITING: its number in the row of its queue's entries;
                             * DEAD: in that of its deaths */
        };
        struct {
            uint64_t started : 42; /* RUNNING, SUCCEEDED, CANCELLED: when its attempt began; 0: none */
            uint64_t start_high : 22; /* SUCCEEDED: see task_done_start() */
        };
        struct {
            uint64_t : 42;
            uint64_t called : 1; /* RUNNING: by a call, whose lease nobody has extended */
            uint64_t passed : 1; /* RUNNING: its answer is on its way to its caller */
            uint64_t target : 6; /* RUNNING, or cut: where its call is (TARGET_NO_MAX); 0: not known */
            uint64_t paid : 1;   /* RUNNING: its key's share has paid for the start, since this process began */
        };
    };
    int64_t order;       /* where its queue goes by it: smaller ones first */
    uint64_t body;       /* where its body is, or, in the end, its result: the shell's */
    uint32_t turn;       /* whose task it is; from its acceptance to its end */
    uint32_t accepted;   /* order of its acceptance, the low bits */
    uint64_t entered_ms : 42; /* when it began to wait (node's axis); SCHEDULED: accepted */
    uint64_t accepted_high : 8;
    uint64_t state : 4;       /* enum task_state: task_set_state() alone sets it */
    uint64_t priority : 3;
    uint64_t attempts : 6;    /* begun, since acceptance or redrive */
    uint64_t cancel : 1;      /* RUNNING: it is not tried again; SCHEDULED: `at` of the wall;
                               * WAITING: told to run now; RETRYING: nobody saw its attempt;
                               * CANCELLED: task_is_cut() */
};
_Static_assert(sizeof(struct task) == 48, "with its timer's link a task has 60 bytes");

struct task_store {
    struct pages slots; /* owned; of struct task */
    uint32_t n_slots;   /* ever used: all behind them have never been reached */
    uint32_t free;      /* slot + 1 of the first free one; 0: none */
    uint32_t max;       /* tasks */
    uint64_t next_order;
    uint64_t bytes; /* bytes of bodies of tasks that are neither free nor final */
    uint32_t (*weigh)(uint64_t body); /* NULL: bodies have no bytes */
    struct groups *groups; /* ref: hears of each state; NULL: nobody does */
    struct progresses *progresses; /* ref: of those that run; NULL: none */
    uint32_t n[TASK_NSTATES]; /* tasks in each state; of FREE: slots in the row */
};

void task_store_init(struct task_store *s, uint32_t max);
void task_store_fini(struct task_store *s);
/* The number that the next task will have: its slot is usable. 0: full, or no memory. */
task_no task_store_next(struct task_store *s);
/* Every slot that it may use has a task. */
bool task_store_is_full(const struct task_store *s);
/* The task begins, in state FREE, zeroed but for its number. SQ_ENOMEM; SQ_EPROTO: the slot
 * has a task (only records that contradict each other say so). */
SQ_CHECK int task_store_put(struct task_store *s, task_no no);
/* Ends it: it must be FREE again (task_set_state). */
void task_store_give(struct task_store *s, task_slot slot);

static inline struct task *task_at(const struct task_store *s, task_slot slot)
{
    return pages_at(&s->slots, slot);
}

/* True: cancelled while it ran; what an attempt takes up is held until its lease ends. */
static inline bool task_is_cut(const struct task *t)
{
    return t->state == TASK_CANCELLED && t->cancel;
}

/* Nothing more becomes of it: only its result, or its end, is kept. Dead ones may be tried again. */
static inline bool task_is_over(const struct task *t)
{
    return t->state == TASK_SUCCEEDED || t->state == TASK_EXPIRED ||
           (t->state == TASK_CANCELLED && !t->cancel);
}

#define TASK_START_HALF 22

/* SUCCEEDED: the number of the start under which it was done: an `ack` that is repeated is known by it.
 * 0: not known. */
static inline uint64_t task_done_start(const struct task *t)
{
    return (uint64_t)t->start_high << TASK_START_HALF | t->start_low;
}

/* A start that has no room, behind 10^13 others, is not known. */
static inline void task_keep_start(struct task *t, uint64_t start)
{
    const uint64_t half = (1 << TASK_START_HALF) - 1;

    start = start >> 2 * TASK_START_HALF == 0 ? start : 0;
    t->start_low = start & half;
    t->start_high = start >> TASK_START_HALF & half;
}

static inline task_slot task_slot_of(task_no no)
{
    return (task_slot)(no & (TASKS_MAX - 1));
}

static inline task_no task_number(const struct task_store *s, task_slot slot)
{
    const struct task *t = task_at(s, slot);

    return ((uint64_t)t->accepted_high << 32 | t->accepted) << TASK_SLOT_BITS | slot;
}

/* SLOT_NONE: no such task (any more). */
task_slot task_find(const struct task_store *s, task_no no);
/* Asserts that the step is allowed, and counts. */
void task_set_state(struct task_store *s, task_slot slot, enum task_state to);
/* Bytes of its body. */
uint64_t task_bytes(const struct task_store *s, task_slot slot);
/* Another body, or another place of it. */
void task_set_body(struct task_store *s, task_slot slot, uint64_t body);

/* ---- names --------------------------------------------------------------------------- */

/* Names that callers give their tasks, and Idempotency-Keys, of all queues of a
 * partition, and which task each means.
 *
 * One entry per name: a keyed hash of 128 bits over (queue, kind, text) stands for the
 * text; the digest of the payload tells "the same again" from a mistake. A name lives as
 * long as its task; a key also for a while after its task's end, and then means a task that
 * may have gone. A unique key (common/task/rules.h) is one more name; it may pass to another task. */

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
