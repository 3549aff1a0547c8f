/* redis_io.h: hiredis' connections on our loop (common/net/ev.h). Shell. */
#ifndef SEGQ_REDIS_IO_H
#define SEGQ_REDIS_IO_H

#include <hiredis/async.h>

#include "common/base/err.h"
#include "common/net/ev.h"

/* Begins to connect to "host:port" or "/path"; a name is looked up, which blocks. NULL: no such
 * name, or no memory; ac->err says what else went wrong. */
redisAsyncContext *redis_io_connect(const char *addr, struct err *e);
/* From now on the loop reads and writes for it, until hiredis frees it. False: no memory. */
bool redis_io_attach(redisAsyncContext *ac, struct ev *ev);

#endif
