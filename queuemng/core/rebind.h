/* rebind.h: a ticket of a queue that binds tickets to devices (`bind: device`) may be taken over by
 * another device, by an operator's word: once, by the next one that shows it, for REBIND_S.
 *
 *   operator --mng_rebind()--> open, in the map of all routers
 *   router   --DEVICE: this one shows it--> the first that comes has it, in the map again
 *
 * Kept with the queue's schedule in the store: a manager that comes later knows it. A pure core. */
#ifndef SEGQ_QUEUEMNG_CORE_REBIND_H
#define SEGQ_QUEUEMNG_CORE_REBIND_H

#include "common/ticket/moved.h"
#include "queuemng/core/view.h"

struct err;
struct mng;
struct mng_out;
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
