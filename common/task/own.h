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

#endif
