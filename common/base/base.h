/* base.h: the few words every file uses. Pure.
 * Times are milliseconds on the monotonic clock unless a name says otherwise
 * (_us, _s, wall_). */
#ifndef SEGQ_BASE_H
#define SEGQ_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t msec_t;
#define MSEC_NEVER INT64_MAX

typedef uint64_t seg_id;   /* never reused; 0 = none */
typedef uint32_t queue_id; /* never reused; 0 = none */
typedef uint32_t node_no;  /* a segment node, numbered by the manager; 0 = none */
typedef uint32_t peer_no;  /* a live connection, numbered by the shell; 0 = none */

#define SQ_CHECK __attribute__((warn_unused_result))
#define SQ_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define SQ_LIKELY(x) __builtin_expect(!!(x), 1)
#define SQ_UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint32_t u32_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A portion has `most`, or fewer: limit; 0: there is none. */
static inline uint32_t portion_of(uint32_t most, uint32_t limit)
{
    return limit == 0 ? most : u32_min(most, limit);
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline msec_t ms_min(msec_t a, msec_t b)
{
    return a < b ? a : b;
}

static inline msec_t ms_max(msec_t a, msec_t b)
{
    return a > b ? a : b;
}

#define NAME_MAX_LEN 64    /* queue, lane and node names, without the final 0 */
#define SUBJECT_MAX_LEN 128
#define LANES_MAX 8        /* lanes of one queue */

enum client_class { CLIENT_GAME, CLIENT_MOBILE, CLIENT_BROWSER, CLIENT_NCLASSES };

#endif
