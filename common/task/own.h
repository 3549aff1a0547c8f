/* own.h: what a task has of its own, beside the rules of its pool: its life in line, attempts,
 * back-off, what is kept of its result, labels. Pure. */
#ifndef SEGQ_COMMON_TASK_OWN_H
#define SEGQ_COMMON_TASK_OWN_H

#include "common/task/rules.h"

#define LABELS_MAX      4
#define LABEL_MAX       32 /* bytes: visible ASCII, no comma */
#define LABELS_TEXT_MAX (LABELS_MAX * (LABEL_MAX + 1) - 1)

/* Members of struct task_rules that a task may have otherwise; least, most. New ones at the end:
 * records have them in this order. */
#define TASK_OWN(X)                                                                      \
    X(ttl_ms, 1, 400ull * 86400000)                                                      \
    X(max_attempts, 1, ATTEMPTS_MAX)                                                     \
    X(retry_min_ms, 0, BACKOFF_MAX)                                                      \
    X(retry_max_ms, 0, BACKOFF_MAX)                                                      \
    X(retry_doublings, 0, 30)                                                            \
    X(retry_jitter, 0, 100)                                                              \
    X(max_result, 0, TASK_RESULT_MAX)

struct task_own {
#define X(m, least, most) uint64_t m; /* the value + 1; 0: as the pool says */
    TASK_OWN(X)
#undef X
    const char *labels; /* borrowed; "a,b"; NULL, "": none */
};

bool own_is_none(const struct task_own *o);
/* True: numbers are in their ranges, and labels are labels. */
bool own_ok(const struct task_own *o);
bool own_equal(const struct task_own *a, const struct task_own *b);
/* The rules for the task. A back-off's bound that is below its beginning is raised to it. */
void own_rules(const struct task_own *o, struct task_rules *r);
bool own_has_label(const struct task_own *o, const char *label, size_t n);
/* Checks a label. */
bool label_ok(const char *p, size_t n);

/* Writes the bytes of a record. Without memory b->failed is set. */
void own_encode(const struct task_own *o, struct buf *b);
/* labels: room of LABELS_TEXT_MAX + 1 for the text of o->labels. 0 or SQ_EPROTO. */
SQ_CHECK int own_decode(struct task_own *o, char *labels, const char *p, uint32_t n);

/* ---- a key that one task of a queue has at a time (single flight, debounce) ----
 *
 * It is apart from names and Idempotency-Keys: those say that a request is the same again. */

/* While what the task has it. Numbers are those of the wire: never changed. */
enum unique_while {
    UNIQUE_WAITING, /* not begun */
    UNIQUE_RUNNING, /* not final */
    UNIQUE_FINAL,   /* kept, also when it is final */
    UNIQUE_NWHILES
};

enum unique_conflict { /* answer to another task's submission */
    UNIQUE_RETURN,  /* return the task that has the key */
    UNIQUE_REPLACE, /* cancel that task, and the new one has the key; refused while a worker has it */
    UNIQUE_REJECT,
    UNIQUE_NCONFLICTS
};

/* ---- what a caller changes of a task that has not begun ---- */

enum patch { PATCH_ORDER = 1, PATCH_WHEN = 2, PATCH_PRIORITY = 4, PATCH_LABELS = 8 };

struct task_patch {
    uint32_t has;    /* enum patch, bits; the rest is 0 */
    int64_t order;   /* where its queue goes by it, it goes before or behind others now */
    int64_t delay_ms, at_ms; /* another moment, of one that is scheduled: from now, or Unix ms */
    uint8_t priority; /* new priority; the place is that of its entry, in that line */
    const char *labels; /* borrowed; "a,b" (own.h) */
};

#endif
