/* forget.h: an operator's order to forget a segment node (nodes/liveness.h) or a task node
 * (tasks/farewell.h) that will not come back. */
#ifndef SEGQ_QUEUEMNG_CORE_FORGET_H
#define SEGQ_QUEUEMNG_CORE_FORGET_H

#include "common/base/base.h"

struct err;
struct mng;
struct mng_out;

/* A node that will not come back. SQ_ECONFLICT: it is up, or (not by force) its segments
 * are not opened elsewhere yet. By force they are given up at once. */
struct mng_forget_end {
    bool forgotten;
    uint32_t segments; /* else: they wait for a node with room; it is forgotten after that */
};

SQ_CHECK int mng_forget(struct mng *m, msec_t now_ms, const char *node, bool force,
                        struct mng_forget_end *end, struct mng_out *out, struct err *e);

#endif
