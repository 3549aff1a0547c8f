/* redis_store_int.h: the data structures of the store in Redis: private to redis_store.c
 * and redis_lease.c. */
#ifndef SEGQ_REDIS_STORE_INT_H
#define SEGQ_REDIS_STORE_INT_H

#include "common/base/buf.h"
#include "common/redis/redis_script.h"
#include "queuemng/store/redis_store.h"

#define ASKED_MAX 32

struct write { /* keys and values, each with its 0; a deleted key has no value */
    struct buf text;
    struct {
        size_t key, val; /* offsets; val 0: delete */
    } * v;
    size_t n, cap, n_puts;
    bool whole; /* in place of everything that is there */
    uint64_t serial;
    msec_t since_ms;
    int64_t sent_us;
};

struct redis_store {
    struct store store;
    struct ev *ev; /* ref */
    struct redis_store_calls calls;
    void *ctx;
    struct redis_link *link;
    struct ev_timer *again;
    char key[3][REDIS_KEY_BYTES]; /* lease, head, kv */
    char owner[64], info[400];
    uint32_t ttl_ms, wait_replicas, answer_ms;
    uint64_t asked[ASKED_MAX]; /* lease questions that are open, oldest first: a ring */
    unsigned first_asked, n_asked;
    struct kv mirror;
    uint64_t rev;        /* number of the last batch known to be kept, or loaded */
    bool has_rev, dirty; /* dirty: the mirror has more than was acknowledged */
    uint64_t epoch;      /* we write under; 0 = not */
    uint64_t issued, done;
    struct write next; /* being gathered */
    struct write in_flight; /* n == 0 and not whole: none */
    uint64_t in_flight_rev;  /* number that it makes */
    bool sent;         /* sent, and not answered */
    unsigned n_stale; /* answers still to come that are about writes of an earlier term */
    struct store_counts count;
    struct histo latency;
};

#endif
