/* segq_http.h: within segq_tasks.c and segq_worker.c: requests to any of several routers. */
#ifndef SEGQ_HTTP_H
#define SEGQ_HTTP_H

#include "segq_tasks.h"

#include <stdint.h>

struct segq_ask {
    const char *method, *path;
    json_t *value;            /* the body; stays the caller's. NULL: none */
    const char *text;         /* or this one */
    const char *key;          /* Idempotency-Key */
    const char *accept;       /* NULL: anything */
    const char *last_id;      /* Last-Event-ID */
    const char *bearer;       /* NULL: the client's token; "": none */
    void (*on_header)(void *ctx, const char *p, size_t n);
    long wait_s;              /* Prefer: wait=; 0: none */
    long timeout_ms;          /* 0: the client's */
    long retry_for_ms;        /* -1: the client's; 0: one try */
    const int *stop;          /* != 0 ends it */
    /* A stream: pieces of an answer that is no refusal. */
    int (*on_piece)(void *ctx, const char *p, size_t n);
    void *ctx;
    int status;          /* out: of the answer */
    long retry_after_ms; /* out: likewise; 0: not told */
};
/* The answer's JSON (of a stream: an empty object), after as many tries as there is time for. */
json_t *segq_http(struct segq_client *c, struct segq_ask *q, struct segq_error *e);
long segq_client_timeout(const struct segq_client *c);

int64_t segq_now_ms(void); /* monotonic */
void segq_sleep(long ms);
/* So much, and up to half as much again. */
long segq_spread(long ms);
void segq_fail(struct segq_error *e, enum segq_failure kind, int status, const char *code,
               const char *detail);
json_t *segq_none(struct segq_error *e, const char *detail); /* NULL: a network error */
void segq_random(unsigned char *out, size_t n);
#define SEGQ_KEY_ROOM 33
/* A fresh Idempotency-Key, in out. */
const char *segq_new_key(char out[SEGQ_KEY_ROOM]);
/* A later try, or another router, may mend it. */
int segq_mends(const struct segq_error *e);
/* before, name as a part of a path, behind. */
char *segq_path(char *out, size_t cap, const char *before, const char *name, const char *behind);

#endif
