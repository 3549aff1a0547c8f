/* orders.h: orders of operators about queues, tickets, nodes and endpoints. They return 0, or SQ_EUNKNOWN,
 * SQ_ECONFLICT or SQ_EINVAL with a sentence for the operator. */
#ifndef SEGQ_QUEUEMNG_CORE_ORDERS_H
#define SEGQ_QUEUEMNG_CORE_ORDERS_H

#include "common/ticket/pass.h"
#include "queuemng/core/view.h"
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

/* Forgets a segment node (core/segment_nodes.h) or a task node (tasks/task_nodes.h) that will not come back.
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

/* A ticket of a queue that binds tickets to devices (`bind: device`) may be taken over by
 * another device, by an operator's word: once, by the next one that shows it, for REBIND_S.
 *
 *   operator --mng_rebind()--> open, in the map of all routers
 *   router   --DEVICE: this one shows it--> the first that comes has it, in the map again
 *
 * Kept with the queue's schedule in the store: a manager that comes later knows it. A pure core. */

struct msg_device;

#define REBIND_S 600 /* for so long it is open */

struct mng_rebind_view {
    const char *queue;
    int64_t until_ms;
    char token[TOKEN_TEXT_LEN + 1]; /* for whoever has the number alone: of no device, so the next takes it */
    bool was_moved; /* another device had taken it over before */
};

/* SQ_EUNKNOWN: no such segment; SQ_ECONFLICT: its queue does not bind tickets, or too many are open. */
SQ_CHECK int mng_rebind(struct mng *m, msec_t now_ms, const struct token_key *key, seg_id seg, uint32_t number, struct mng_rebind_view *v,
                        struct mng_out *out, struct err *e);
/* A router has it from that device. */
void rebind_take(struct mng *m, const struct msg_device *d);

#endif
