/* redis_io.h: hiredis' connections on our loop (common/net/ev.h). Shell. */
#ifndef SEGQ_REDIS_IO_H
#define SEGQ_REDIS_IO_H

#include <hiredis/async.h>

#include "common/net/ev.h"

/* From now on the loop reads and writes for it, until hiredis frees it. False: no memory. */
bool redis_io_attach(redisAsyncContext *ac, struct ev *ev);

#endif
