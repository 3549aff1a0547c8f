/* jobs.h: what the files of bench_jobs share: what is asked of it, its connections, and what a queue
 * of jobs is to it. The program ends when something is not as expected: figures of a path that fails
 * are worth nothing. */
#ifndef SEGQ_BENCH_JOBS_H
#define SEGQ_BENCH_JOBS_H

#include <hiredis/hiredis.h>

#include "common/base/buf.h"
#include "common/net/net.h"

#define BATCH_MAX 1000
#define KEYS_MAX  100000

struct job_id {
    char name[64], lease[24];
};

struct conn {
    int fd;
    struct buf out, in;
    redisReader *reader; /* Redis */
    bool settles;        /* what it took */
    unsigned asked;      /* answers that are to come; rows of the request */
    unsigned n_ids;
    struct job_id id[BATCH_MAX];
    struct buf value[BATCH_MAX]; /* list: what LREM is told */
};

/* The answer in c->in (Redis: of c->reader). How many jobs it has; -1: it is not whole. */
struct proto {
    void (*put)(struct conn *c, unsigned n);
    int (*was_put)(struct conn *c);
    void (*take)(struct conn *c, unsigned n);
    int (*taken)(struct conn *c);
    void (*settle)(struct conn *c);
    int (*settled)(struct conn *c);
};

struct bench_jobs {
    const struct proto *proto;
    struct net_addr addr;
    const char *token, *queue, *key, *only, *call;
    unsigned conns, batch, size, queues, keys, port;
    double seconds, due_in, span;
    uint64_t jobs, asked, done, others, requests, early, disorder;
    bool takes, next, waits, dry;
    int64_t start_us, *late;
    uint64_t n_late, cap_late;
    uint64_t last[KEYS_MAX];
};


extern struct bench_jobs b;
extern const struct proto segq_proto, beanstalk_proto, stream_proto, list_proto;

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void say(struct buf *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t wall_us(void);

/* No job more shall be asked for. */
bool is_over(void);

/* When the job of this number is due. */
int64_t due_us(uint64_t no);
/* Appends its payload: the moment, the number and the key, then as many bytes as it is to have. */
void payload(struct buf *o, uint64_t no, int64_t due, const char *key);
/* One that was taken, by its payload. */
void note_job(const char *text);

#endif
