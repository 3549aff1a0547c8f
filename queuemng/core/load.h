/* load.h: a manager is fed what an earlier one stored (state/records.h), then begins its term. */
#ifndef SEGQ_QUEUEMNG_CORE_LOAD_H
#define SEGQ_QUEUEMNG_CORE_LOAD_H

#include "common/base/base.h"

struct err;
struct mng;
struct mng_out;

/* Stored pairs, in any order, then mng_start() once: takes the next epoch. */
SQ_CHECK int mng_load(struct mng *m, const char *key, const char *val, struct err *e);
/* Before mng_start(): the epoch was given with the lease, in place of the next one. */
void mng_set_epoch(struct mng *m, uint64_t epoch);
void mng_start(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out);

#endif
