/* payload.h: payloads that are no JSON: their Content-Type and their bytes, behind a mark with which no JSON
 * begins. One that is JSON stands as it came. Pure. */
#ifndef SEGQ_COMMON_TASK_PAYLOAD_H
#define SEGQ_COMMON_TASK_PAYLOAD_H

#include "common/base/buf.h"
#include "common/task/call.h"

#define PAYLOAD_ANY "application/octet-stream" /* where no type was said */

struct payload { /* borrowed */
    bool typed; /* false: JSON; type is none */
    struct call_span type, bytes;
};

/* A Content-Type as it may be said again: visible ASCII and blanks, with a slash. */
bool payload_type_ok(const char *p, size_t n);
/* type: ok, or n 0: any bytes. */
void payload_pack(struct buf *out, struct call_span type, struct call_span bytes);
struct payload payload_of(const void *p, size_t n);

#endif
