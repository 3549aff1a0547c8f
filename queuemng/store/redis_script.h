/* redis_script.h: one script for Redis (EVAL) put together, sent, and its answer read. */
#ifndef SEGQ_REDIS_SCRIPT_H
#define SEGQ_REDIS_SCRIPT_H

#include "queuemng/store/redis_store_int.h"

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

#endif
