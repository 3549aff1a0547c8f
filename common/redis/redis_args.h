/* redis_args.h: one command for Redis, put together word by word. Pure. */
#ifndef SEGQ_REDIS_ARGS_H
#define SEGQ_REDIS_ARGS_H

#include "common/base/base.h"

struct redis_args { /* arguments of a command; grows; fill with redis_arg_*() */
    const char **v;
    size_t *len, n, cap;
    uint64_t answer_bytes; /* if the answer may be large: about how much; it gets more time */
    bool failed;
};
void redis_args_fini(struct redis_args *a);
void redis_arg(struct redis_args *a, const char *p, size_t n); /* borrowed until sent */
void redis_arg_str(struct redis_args *a, const char *s);

#endif
