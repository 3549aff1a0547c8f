/* worker.h: what the files of bench_worker share: its jobs, what a queue is to it, and what it says to
 * the queue, over one connection. The program ends when something is not as expected: figures of a
 * path that fails are worth nothing. */
#ifndef SEGQ_BENCH_WORKER_H
#define SEGQ_BENCH_WORKER_H

#include <curl/curl.h>

#include "common/base/buf.h"

#define JOBS_MAX 256 /* at the target at once */

struct job {
    char id[24];
    struct buf body, answer;
    CURL *easy;
};

/* Each appends what it says to worker.out, which leaves once a turn. */
struct queue_of_jobs {
    void (*begin)(void);
    void (*reserve)(unsigned n, bool wait); /* wait: for a second at most, of one */
    /* What the target said is kept where others can read it; behind that the job goes. */
    void (*done)(const struct job *k);
    void (*heard)(void); /* worker.in has grown; what is whole is taken out of it */
};

struct worker {
    const struct queue_of_jobs *queue;
    struct buf in, out;
    unsigned reserved; /* asked for, and not answered */
    bool dry;          /* the queue had none when it was asked last */
};

extern struct worker w;
extern const struct queue_of_jobs beanstalk_jobs, redis_jobs;

void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What was reserved: a job goes to the target; NULL: there is none. */
void worker_has(const char *id, const void *body, size_t n);

#endif
