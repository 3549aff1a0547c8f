/* redis_io.h: hiredis' connections on our loop (common/net/ev.h). Shell. */
#ifndef SEGQ_REDIS_IO_H
#define SEGQ_REDIS_IO_H

#include <hiredis/async.h>

#include "common/base/err.h"
#include "common/net/ev.h"

struct net_addr;

/* Begins to connect. NULL: no memory; ac->err says what else went wrong. */
redisAsyncContext *redis_io_connect(const struct net_addr *a);
/* From now on the loop reads and writes for it, until hiredis frees it. False: no memory. */
bool redis_io_attach(redisAsyncContext *ac, struct ev *ev);

#endif
