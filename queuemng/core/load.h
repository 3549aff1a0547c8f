/* load.h: a manager is fed the records that an earlier one stored (state/records.h). */
#ifndef SEGQ_QUEUEMNG_CORE_LOAD_H
#define SEGQ_QUEUEMNG_CORE_LOAD_H

#include "common/base/base.h"

struct err;
struct mng;

/* Stored pairs, in any order, before mng_start(). SQ_EPROTO: not a record of ours; SQ_ENOMEM. */
SQ_CHECK int mng_load(struct mng *m, const char *key, const char *val, struct err *e);

#endif
