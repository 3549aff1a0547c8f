/* redis_cfg.h: what a configuration says of Redis, as the link wants it; faults for Prometheus. */
#ifndef SEGQ_REDIS_CFG_H
#define SEGQ_REDIS_CFG_H

#include "common/config/cfg_redis.h"
#include "common/redis/redis_link.h"

/* *o borrows the texts of c, and the password, which is read from its file. 0, or of
 * keys_password(). */
SQ_CHECK int redis_opts_of(struct redis_opts *o, const struct cfg_redis *c, char *password,
                           size_t cap, struct err *e);
void redis_fault_metrics(struct buf *b, const uint64_t fault[REDIS_NFAULTS]);

#endif
