/* rules.h: rules of tasks: what an operator says of the queues that a pattern matches, what a task has
 * of its own in place of it, limits of single keys, units of calls; how large a task's numbers get, for
 * all that speak of tasks; and names of queues. Pure.
 * All members of struct task_rules are numbers, so that they go into a record as they are. */
#ifndef SEGQ_COMMON_TASK_RULES_H
#define SEGQ_COMMON_TASK_RULES_H

#include "common/base/base.h"
#include "common/base/buf.h"
#include "common/base/err.h"

typedef uint64_t task_no; /* within its partition; 0: none. The low TASK_SLOT_BITS are its slot */
typedef uint32_t part_no; /* a partition, never used again; 0: none */

#define TASK_SLOT_BITS  24
#define TASKS_MAX       (1u << TASK_SLOT_BITS) /* in a partition */
#define TASK_PRIORITIES 8
#define ATTEMPTS_MAX    62
#define TASK_KEY_LEVELS 3   /* queue, key, key below it */
#define TASK_NAME_MAX   64  /* bytes of a queue's name, of a key, of a caller's name */
#define TARGET_NO_MAX   63  /* targets of an endpoint have numbers from 1 */
#define TASK_IDEM_MAX   128 /* bytes of an Idempotency-Key */
#define DELAY_MAX_MS    ((msec_t)367 * 24 * 3600 * 1000)
#define BACKOFF_MAX     ((msec_t)24 * 3600 * 1000)
#define BYTES_WAIT_MAX  (1ull << 50) /* bytes of payloads of a partition */
#define RATE_BURST_MAX  1000000u
#define RATE_PER_1000_S 1000000000u /* at most */
#define TASK_COST_MAX   1000000000u /* units of a task; at least 1 */
#define WAITING_UNITS_MAX 1000000000000000u /* units of all tasks of a queue that wait */
#define RATE_UNITS_MAX  10000000000u /* units of a rate */
#define UNIT_RATES_MAX  3 /* rates in units, of one limit */
#define TASK_BODY_MAX   (512u << 10) /* also of all bodies in one frame */
#define CALL_BODY_MAX   (32u << 20)  /* bytes of the body of a call, in a file of its own */
#define TASK_RESULT_MAX (64u << 10) /* bytes kept of a result; given: TASK_BODY_MAX */
#define ANSWER_READ_MAX (16u << 20) /* bytes that are read of a target's answer */
#define RESULT_SHA256   32u
#define TASK_ROWS_MAX   1000 /* tasks of one request */
#define AHEAD_MOST      100 /* counted so far: then it is "100 or more" */

enum task_order {
    ORDER_START,  /* first attempts begin in the order of entry */
    ORDER_STRICT, /* the next one begins when this one is final */
    ORDER_NUMBER, /* the smallest `order` first */
    ORDER_NKINDS
};

enum rate_per { PER_SECOND, PER_MINUTE, PER_HOUR, PER_DAY, RATE_NPERS };
static inline int64_t rate_per_seconds(uint64_t per)
{
    static const int64_t seconds[RATE_NPERS] = { 1, 60, 3600, 86400 };

    return seconds[per];
}

/* Rates in units of a limit: units (0: there is none), of which span (enum rate_per), units at once.
 * Members of the same kind are UNIT_RATES_MAX in a row (unit_rate_at()). */
#define UNIT_RATE(X, p, i)                                                               \
    X(p##_units_##i, 0, RATE_UNITS_MAX)                                                  \
    X(p##_per_##i, 0, RATE_NPERS - 1)                                                    \
    X(p##_room_##i, 0, RATE_UNITS_MAX)
#define UNIT_RATES(X, p) UNIT_RATE(X, p, 1) UNIT_RATE(X, p, 2) UNIT_RATE(X, p, 3)

/* Calendar windows of the rates of a limit, ZONE_BITS for each rate: 0: it is sliding; else the number
 * of the zone in whose minutes, hours or days it counts. */
#define ZONE_BITS       5
#define RATE_ZONES_MAX  ((1u << ZONE_BITS) - 1) /* zones of a partition, from 1 */
#define LIMIT_WINDOWS   (ZONE_BITS * UNIT_RATES_MAX) /* bits */
#define UNIT_WINDOWS    ((RATE_ZONES_MAX + 1) * RATE_NPERS)
/* Number of a window of a partition; 0: none. */
static inline uint8_t unit_window(uint64_t windows, unsigned rate, uint64_t per)
{
    uint64_t zone = windows >> (ZONE_BITS * rate) & RATE_ZONES_MAX;

    return (uint8_t)(zone != 0 ? zone * RATE_NPERS + per : 0);
}

struct unit_rate_numbers { /* UNIT_RATES_MAX of them are those members */
    uint64_t units, per, room;
};

/* member, least, most. Times: ms. New ones at the end: records have them in this order. */
#define TASK_RULES(X)                                                                    \
    X(order, 0, ORDER_NKINDS - 1)                                                        \
    X(ttl_ms, 0, 400ull * 86400000)         /* waits at most so long; 0: for ever */     \
    X(result_ms, 0, 400ull * 86400000)      /* kept after its end */                     \
    X(read_ms, 0, 400ull * 86400000)        /* and after its result was first read */    \
    X(dead_ms, 0, 400ull * 86400000)        /* kept when dead */                         \
    X(dedup_ms, 0, 400ull * 86400000)       /* keys are remembered after the end */      \
    X(lease_ms, 1, 43200000)                /* if the worker names none */               \
    X(max_attempts, 1, ATTEMPTS_MAX)                                                     \
    X(retry_min_ms, 0, BACKOFF_MAX)                                                      \
    X(retry_max_ms, 0, BACKOFF_MAX)                                                      \
    X(retry_doublings, 0, 30)                                                            \
    X(retry_jitter, 0, 100)                 /* percent */                                \
    X(max_waiting, 1, TASKS_MAX)            /* tasks of a queue that are not over */         \
    X(queue_rate, 0, RATE_PER_1000_S)       /* per 1000 s; 0: any */                     \
    X(queue_burst, 1, RATE_BURST_MAX)                                                    \
    X(queue_at_once, 0, TASKS_MAX)          /* 0: any */                                 \
    X(key_rate, 0, RATE_PER_1000_S)                                                      \
    X(key_burst, 1, RATE_BURST_MAX)                                                      \
    X(key_at_once, 0, TASKS_MAX)                                                         \
    X(below_rate, 0, RATE_PER_1000_S)                                                    \
    X(below_burst, 1, RATE_BURST_MAX)                                                    \
    X(below_at_once, 0, TASKS_MAX)                                                       \
    X(head_start_1, 0, 400ull * 86400000)                                                \
    X(head_start_2, 0, 400ull * 86400000)                                                \
    X(head_start_3, 0, 400ull * 86400000)                                                \
    X(head_start_4, 0, 400ull * 86400000)                                                \
    X(head_start_5, 0, 400ull * 86400000)                                                \
    X(head_start_6, 0, 400ull * 86400000)                                                \
    X(head_start_7, 0, 400ull * 86400000)                                                \
    X(max_result, 0, TASK_RESULT_MAX)       /* bytes of a result that are kept */        \
    X(position_cap, 0, TASKS_MAX)           /* callers are told no place beyond; 0: any */ \
    X(until_told, 0, RATE_PER_1000_S + 1)   /* starts of the partition per 1000 s, + 1, while the \
                                             * manager says no rate; 0: any, always */ \
    X(max_bytes, 0, BYTES_WAIT_MAX)         /* payloads of the partition's tasks that are not \
                                             * over; 0: any */ \
    X(max_wait_ms, 0, 400ull * 86400000)    /* estimate of the wait, beyond which a task is refused; \
                                             * 0: any */                                 \
    UNIT_RATES(X, queue) UNIT_RATES(X, key) UNIT_RATES(X, below)                         \
    X(max_cost, 0, TASK_COST_MAX)           /* units of a new task; 0: any */             \
    X(max_waiting_units, 0, WAITING_UNITS_MAX) /* units of a queue's tasks that wait; 0: any */ \
    X(windows, 0, ((uint64_t)1 << LIMIT_WINDOWS * TASK_KEY_LEVELS) - 1) /* LIMIT_WINDOWS each: of the queue, \
                                             * keys, those below */
#define TASK_RULES_LATER (3 * 3 * UNIT_RATES_MAX + 3) /* behind max_wait_ms: not written while they are 0 */

struct task_rules {
#define X(m, least, most) uint64_t m;
    TASK_RULES(X)
#undef X
};

/* Three hours to wait, an hour for results, eight attempts ... */
void rules_default(struct task_rules *r);
/* NULL, or the member that is out of its range (or below its partner's). */
const char *rules_check(const struct task_rules *r);
void rules_encode(const struct task_rules *r, struct buf *b);
/* Members that are missing (an older record) get their default. 0 or SQ_EPROTO. */
SQ_CHECK int rules_decode(struct task_rules *r, const char *p, uint32_t n);

/* ---- a task's own: its life in line, attempts, back-off, what is kept of its result, labels ---- */

#define LABELS_MAX      4
#define LABEL_MAX       32 /* bytes: visible ASCII, no comma */
#define LABELS_TEXT_MAX (LABELS_MAX * (LABEL_MAX + 1) - 1)

/* Members of struct task_rules that a task may have otherwise; least, most. New ones at the end:
 * records have them in this order. */
#define TASK_OWN_RULES(X)                                                                      \
    X(ttl_ms, 1, 400ull * 86400000)                                                      \
    X(max_attempts, 1, ATTEMPTS_MAX)                                                     \
    X(retry_min_ms, 0, BACKOFF_MAX)                                                      \
    X(retry_max_ms, 0, BACKOFF_MAX)                                                      \
    X(retry_doublings, 0, 30)                                                            \
    X(retry_jitter, 0, 100)                                                              \
    X(max_result, 0, TASK_RESULT_MAX)
/* And what no pool says: how many units it takes of rates and shares. */
#define TASK_OWN(X) TASK_OWN_RULES(X) X(cost, 1, TASK_COST_MAX)

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
static inline uint64_t own_cost(const struct task_own *o) /* NULL: nothing */
{
    return o != NULL && o->cost != 0 ? o->cost - 1 : 1;
}
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

#define OFFER_QUEUES 8 /* in which a task stands at once */
#define OFFER_TEXT   ((OFFER_QUEUES - 1) * (TASK_NAME_MAX + 1)) /* names behind the first, with commas */

/* ---- what a caller changes of a task that has not begun ---- */

enum patch { PATCH_ORDER = 1, PATCH_WHEN = 2, PATCH_PRIORITY = 4, PATCH_LABELS = 8 };

struct task_patch {
    uint32_t has;    /* enum patch, bits; the rest is 0 */
    int64_t order;   /* where its queue goes by it, it goes before or behind others now */
    int64_t delay_ms, at_ms; /* another moment, of one that is scheduled: from now, or Unix ms */
    uint8_t priority; /* new priority; the place is that of its entry, in that line */
    const char *labels; /* borrowed; "a,b" */
};

/* ---- units of a call ----------------------------------------------------------------- */

/* Units of a call whose caller names none: the rule of an endpoint, from the request's body. */
#define COST_HEADER_MAX    64  /* bytes of the name of a field */
#define COST_POINTER_MAX   128 /* bytes of a pointer into a body: "/usage/total_tokens" */
#define COST_PER_BYTE_MAX  1000
#define COST_PER_BYTE_PART 1000000 /* parts of a unit */

struct cost_rule {
    const char *pointer; /* borrowed; the member of the body that says how many are asked for; "": none */
    uint64_t per_byte;   /* parts of a unit for each byte of the body */
    uint64_t constant;
    uint64_t least;      /* also where the caller names a cost; 0, 1: any */
    uint64_t most;       /* bound of an estimate; 0: there is no rule */
};

static inline bool cost_has_rule(const struct cost_rule *r)
{
    return r->most != 0;
}

/* The cost of a call with a body of so many bytes, which asks for so many units; named: by its caller; 0:
 * it names none. */
uint64_t cost_estimate(const struct cost_rule *r, uint64_t named, uint64_t bytes, uint64_t asked);
/* A number of JSON as units, rounded up, TASK_COST_MAX at most. False: it is none, or below 0. */
bool cost_number(const char *p, size_t n, uint64_t *units);
/* Names of members with a slash before each: NULL, or what is wrong. */
const char *cost_pointer_wrong(const char *pointer);

/* ---- names of queues ----------------------------------------------------------------- */

/* Names of task queues, the patterns of pools, and which share of its pool a queue
 * belongs to. Routers and managers must agree in all three, in every release. */

/* Parts with slashes between them, each of [a-z0-9][a-z0-9_.-]*, TASK_NAME_MAX in all. No part is
 * "tasks": in a path the name ends there. */
bool queue_name_ok(const char *p, size_t n);
/* A queue's name, or the beginning of one and a star: "images", "ride/" and "*", "*" alone. */
bool queue_match_ok(const char *match);
/* A text, or the beginning of one and a star. */
bool star_matches(const char *match, size_t m, const char *text, size_t n);
bool queue_matches(const char *match, const char *queue, size_t n);
/* Does one of the list, with commas between (n bytes), match? Of a pattern in the place of `queue`:
 * does it match every queue of that? */
bool queues_match(const char *list, size_t n, const char *queue, size_t queue_n);
#define QUEUES_MAX  16 /* names and patterns of a list */
#define QUEUES_TEXT (QUEUES_MAX * (TASK_NAME_MAX + 1))

/* 0 .. of-1. */
uint32_t part_share(const char *queue, size_t n, uint32_t of);
/* Is it among so many percent of all queues? Among more, too, if so; and whatever its share is. */
bool queue_is_among(const char *queue, size_t n, unsigned percent);

/* ---- limits of single keys ----------------------------------------------------------- */

/* Limits and shares of single keys: what an operator says of the keys of a pool that a
 * pattern matches, and of one key of one queue, which is *pinned*.
 *
 * A list has the pinned ones first, in the order of key_limit_compare(); then the patterns, of which
 * the first that matches counts. Whatever none of them matches has the pool's own limits. */

#define KEY_TEXT_MAX   (2 * TASK_NAME_MAX + 1) /* bytes of "tenant7/user42" */
#define PINS_MAX       1000u                   /* pinned keys of the queues of a pool */
#define KEY_LIMITS_MAX (PINS_MAX + 64)         /* limits of a partition: as many patterns, too */
#define KEY_WEIGHT_MAX 1000u

/* member, most. Of older senders and records those at the end are missing: then they are 0. */
#define KEY_LIMIT(X)                                                                     \
    X(rate, RATE_PER_1000_S)  /* per 1000 s; 0: any */                                   \
    X(burst, RATE_BURST_MAX)  /* 0 is 1 */                                               \
    X(at_once, TASKS_MAX)     /* 0: any */                                               \
    X(weight, KEY_WEIGHT_MAX) /* among its neighbours; 0 is 1 */                         \
    X(paused, 1)              /* nothing of it starts */                                 \
    KEY_UNIT_RATE(X, 1) KEY_UNIT_RATE(X, 2) KEY_UNIT_RATE(X, 3)                          \
    X(windows, (1u << LIMIT_WINDOWS) - 1) /* zones of calendar windows */
#define KEY_UNIT_RATE(X, i) /* struct unit_rate_numbers */                               \
    X(units_##i, RATE_UNITS_MAX) X(per_##i, RATE_NPERS - 1) X(room_##i, RATE_UNITS_MAX)
#define KEY_LIMIT_LATER (3 * UNIT_RATES_MAX + 1) /* behind `paused`: not written where they are 0 */

struct key_limit {
    const char *queue; /* whose key is pinned; "": a pattern, of all queues of the pool */
    const char *key;   /* a level or two, "a" or "a/b"; of a pattern each is a text, or the
                        * beginning of one and a star */
#define X(m, most) uint64_t m;
    KEY_LIMIT(X)
#undef X
};

/* Bytes of a limit, at most: its texts, each with a 0, and its numbers. */
#define KEY_LIMIT_BYTES (TASK_NAME_MAX + KEY_TEXT_MAX + 2 + 5 + 3 + 4 + 2 + 1 + UNIT_RATES_MAX * (5 + 1 + 5) + 3)

/* "tenant*", "tenant7/" and "*". */
bool key_match_ok(const char *match);
/* "tenant7", "tenant7/user42": what a task may have. */
bool key_text_ok(const char *key);
bool key_matches(const char *match, const char *key);
/* Order of pinned keys: by queue, then key. */
int key_limit_compare(const struct key_limit *a, const struct key_limit *b);

/* Writes the bytes of a record; none: no bytes. Without memory b->failed is set. */
void key_limits_encode(const struct key_limit *v, uint32_t n, struct buf *b);
/* *v is made (free() it); its texts are in the bytes. 0, SQ_EPROTO (also: a number out of its range,
 * an order that is not the list's), SQ_ENOMEM. */
SQ_CHECK int key_limits_decode(const uint8_t *p, size_t n, struct key_limit **v, uint32_t *count);

#endif
