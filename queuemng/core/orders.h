/* orders.h: orders of operators about queues, nodes and endpoints. They return 0, or SQ_EUNKNOWN,
 * SQ_ECONFLICT or SQ_EINVAL with a sentence for the operator. */
#ifndef SEGQ_QUEUEMNG_CORE_ORDERS_H
#define SEGQ_QUEUEMNG_CORE_ORDERS_H

#include "queuemng/tasks/endpoints.h"

struct err;
struct mng;
struct mng_out;

enum mng_order {
    MNG_PAUSE,
    MNG_RESUME,
    MNG_CLOSE,
    MNG_OPEN,
    MNG_PASSTHROUGH,
    MNG_REJECT,
    MNG_FLUSH
};

/* A new state, or a flush. */
SQ_CHECK int mng_order(struct mng *m, msec_t now_ms, const char *queue, enum mng_order o,
                       struct mng_out *out, struct err *e);
/* n tickets, whatever limits say. */
SQ_CHECK int mng_release(struct mng *m, msec_t now_ms, const char *queue, uint64_t n,
                         struct mng_out *out, struct err *e);
/* on: the node is emptied; off: it takes segments again. */
SQ_CHECK int mng_drain(struct mng *m, msec_t now_ms, const char *node, bool on,
                       struct mng_out *out, struct err *e);

/* Forgets a segment node (nodes/liveness.h) or a task node (tasks/task_nodes.h) that will not come back.
 * SQ_ECONFLICT: it is up, or (not by force) its segments
 * are not opened elsewhere yet. By force they are given up at once. */
struct mng_forget_end {
    bool forgotten;
    uint32_t segments; /* else: they wait for a node with room; it is forgotten after that */
};

SQ_CHECK int mng_forget(struct mng *m, msec_t now_ms, const char *node, bool force,
                        struct mng_forget_end *end, struct mng_out *out, struct err *e);

/* False: there is no such endpoint. */
bool mng_endpoint_order(struct mng *m, msec_t now_ms, const char *name, enum endpoint_order o,
                        struct mng_out *out);

#endif
