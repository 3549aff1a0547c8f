/* key_limit.h: limits and shares of single keys: what an operator says of the keys of a pool that a
 * pattern matches, and of one key of one queue, which is *pinned*. Pure.
 *
 * A list has the pinned ones first, in the order of key_limit_compare(); then the patterns, of which
 * the first that matches counts. Whatever none of them matches has the pool's own limits. */
#ifndef SEGQ_COMMON_TASK_KEY_LIMIT_H
#define SEGQ_COMMON_TASK_KEY_LIMIT_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/task/rules.h"

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
    X(windows, (1u << LIMIT_WINDOWS) - 1) /* zones of calendar windows (rules.h) */
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
