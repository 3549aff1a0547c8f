/* redis_store_int.h: what redis_store.c, redis_write.c, redis_lease.c share. */
#ifndef SEGQ_REDIS_STORE_INT_H
#define SEGQ_REDIS_STORE_INT_H

#include "common/base/buf.h"
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
    char lease[96], head[96], kv[96]; /* keys */
    char owner[64], info[400];
    uint32_t ttl_ms, wait_replicas, answer_ms;
    uint64_t asked[ASKED_MAX]; /* lease questions that are open, oldest first: a ring */
    unsigned first_asked, n_asked;
    struct kv mirror;
    uint64_t rev;        /* of the last batch known to be kept, or loaded */
    bool has_rev, dirty; /* dirty: the mirror has more than was acknowledged */
    uint64_t epoch;      /* we write under; 0 = not */
    uint64_t issued, done;
    struct write next; /* being gathered */
    struct write way;  /* under way; n == 0 and not whole: none */
    uint64_t way_rev;  /* that it makes */
    bool sent;         /* it is sent, and not answered */
    unsigned n_stale; /* answers still to come that are about writes of an earlier term */
    struct store_counts count;
    struct histo latency;
};

struct command { /* an EVAL being put together; numbers as text */
    struct redis_args a;
    char text[6][32];
    unsigned n_text;
};
void redis_eval(struct command *c, const struct redis_store *s, const char *script);
void redis_arg_u64(struct command *c, uint64_t v);
/* Sends it, and frees its arguments. */
SQ_CHECK int redis_run(struct redis_store *s, struct command *c, redis_fn fn);
/* Numbers at the front of an answer; false: something else came, and it is told so. */
bool redis_numbers(struct redis_store *s, const struct redis_ans *a, int64_t *v,
                   size_t n);

/* ---- redis_write.c */
bool write_is_open(const struct write *w);
void write_reset(struct write *w);
void write_fini(struct write *w);
SQ_CHECK int write_add(struct write *w, const char *key,
                       const char *val); /* NULL: delete */
/* Sends what is gathered, if nothing is under way. */
void redis_write_go(struct redis_store *s);

#endif
