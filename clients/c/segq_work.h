/* segq_work.h: within segq_worker.c and segq_ends.c: a worker, and the tasks that it has. */
#ifndef SEGQ_WORK_H
#define SEGQ_WORK_H

#include "segq_http.h"

#include <pthread.h>

#define SEGQ_BATCH      1000
#define SEGQ_REASON_MAX 200 /* bytes */
#define SEGQ_PAUSE_MS   200 /* the first of the back-off */

struct work { /* a task that was taken */
    struct segq_job job; /* first: it is what handlers have */
    struct segq_worker *w;
    json_t *said; /* owned; the texts of job are its */
    unsigned char *raw; /* owned: job.bytes */
    json_t *bytes; /* the result that is none: members of the end */
    int64_t until_ms, extend_at_ms; /* of its lease */
    int refs; /* of its slot, of `ends`, of who asks for it without the lock */
    int begun, over, lost;
    json_t *progress; /* to be told */
    char reason[SEGQ_REASON_MAX + 1], delay[32];
    json_t *row; /* its end */
    int64_t tell_at_ms, tell_until_ms;
    long pause_ms;
    int alone; /* told in a request of its own: it may spoil others */
    struct work *next;
};

struct segq_worker {
    struct segq_client *c;
    struct segq_worker_options o;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct work **slots; /* concurrency of them; NULL: free */
    int used, telling;
    struct work *ends, **last_end; /* to be told */
    int n_ends;
    int stopping, closing;
    int hurry; /* the take under way is ended, too */
    int64_t end_at_ms;
    int refused;
    struct segq_error why;
    pthread_t taker, teller, keeper, *handlers;
    int n_handlers;
    long patience_ms; /* of the keeper, with one answer */
};

/* With the lock: until something changes, at most so long. */
void segq_wait_ms(struct segq_worker *w, int64_t ms);
void segq_unref(struct work *x);
/* Its end, which is told together with others; 0: it was over. */
int segq_end(struct work *x, json_t *row);
/* Without it. */
void segq_say(struct segq_worker *w, const char *name, const struct work *x);
long segq_grow(long pause_ms);
/* At most 200 bytes, no control characters, no half of a character. */
void segq_plain(char out[SEGQ_REASON_MAX + 1], const char *text);
json_t *segq_row(const struct work *x, const char *verb);
void *segq_tell_ends(void *worker);   /* threads, until w->closing */
void *segq_keep_leases(void *worker);

#endif
