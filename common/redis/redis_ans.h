/* redis_ans.h: the answers of Redis: values and errors. Pure. */
#ifndef SEGQ_REDIS_ANS_H
#define SEGQ_REDIS_ANS_H

#include "common/redis/redis_fault.h"

/* An answer, valid during the callback: one value, or a list of values. */
struct redis_ans {
    enum redis_fault fault; /* NONE: the rest is good */
    const char *text;       /* text of the error; "" */
    const void *reply;
};
typedef void (*redis_fn)(void *ctx, const struct redis_ans *a);
size_t redis_ans_n(const struct redis_ans *a); /* 1 if it is no list */
/* The i-th, or false: there is none, or it is of another type. */
bool redis_ans_int(const struct redis_ans *a, size_t i, int64_t *out);
bool redis_ans_text(const struct redis_ans *a, size_t i, const char **p, size_t *n);

/* Reads hiredis' reply (not NULL): an error by its first word. */
struct redis_ans redis_ans_of(const void *reply);

#endif
