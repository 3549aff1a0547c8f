/* redis_script.h: what users of a link share: its options from their configuration; a script (EVAL)
 * put together, sent, and its answer read; faults for Prometheus. Shell. */
#ifndef SEGQ_REDIS_SCRIPT_H
#define SEGQ_REDIS_SCRIPT_H

#include "common/config/cfg_check.h"
#include "common/redis/redis_link.h"

#define REDIS_KEY_BYTES 96

struct redis_command { /* being put together; numbers as text */
    struct redis_args a;
    char text[12][24];
    unsigned n_text;
};
void redis_eval(struct redis_command *c, const char *script, const char (*key)[REDIS_KEY_BYTES],
                unsigned n_keys);
void redis_arg_u64(struct redis_command *c, uint64_t v);
/* Sends it, and frees its arguments. */
SQ_CHECK int redis_run(struct redis_link *l, struct redis_command *c, redis_fn fn, void *ctx);
/* Numbers at the front of an answer; false: something else came, and the link is told so. */
bool redis_numbers(struct redis_link *l, const struct redis_ans *a, int64_t *v, size_t n);
/* WAIT: until so many replicas have what was sent before it, for half of answer_ms at most. */
SQ_CHECK int redis_wait(struct redis_link *l, uint32_t replicas, uint32_t answer_ms, redis_fn fn,
                        void *ctx);
/* Takes the answer; false: the server has no such script, and the link is told so. */
bool redis_waited(struct redis_link *l, const struct redis_ans *a, uint32_t replicas);

/* *o borrows the texts of c, the password, which is read from its file, and *tls, which must live
 * as long as the links: redis_tls_load(). 0, or of both. */
SQ_CHECK int redis_opts_of(struct redis_opts *o, const struct cfg_redis *c, char *password,
                           size_t cap, struct tls_ctx **tls, struct err *e);
/* Reads the files of c, for links that are dialled from now on; NULL without redis_tls. SQ_EINVAL, with
 * the key, the file, and what is wrong with it: *tls is as it was. */
SQ_CHECK int redis_tls_load(struct tls_ctx **tls, const struct cfg_redis *c, struct err *e);
/* The same, for -t, and before a reload is taken over. */
SQ_CHECK int redis_tls_try(const struct cfg_redis *c, struct err *e);
void redis_fault_metrics(struct buf *b, const uint64_t fault[REDIS_NFAULTS]);

#endif
