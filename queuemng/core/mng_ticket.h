/* mng_ticket.h: one ticket to the last place of another lane. */
#ifndef SEGQ_QUEUEMNG_CORE_MNG_TICKET_H
#define SEGQ_QUEUEMNG_CORE_MNG_TICKET_H

#include "queuemng/state/opts.h"

struct err;
struct mng;
struct mng_out;
struct mnode;
struct msg_ticket;

/* Begins it. 0 and *order, to be asked about after each step until it has ended; or SQ_EUNKNOWN,
 * SQ_ECONFLICT, SQ_EINVAL with a sentence; or SQ_EBUSY. The ticket is as its token names it. */
SQ_CHECK int mng_ticket_move(struct mng *m, msec_t now_ms, const char *queue, seg_id seg,
                             uint32_t number, const char *lane, struct mng_out *out,
                             uint64_t *order, struct err *e);
/* True: it has ended, and is forgotten with that. */
bool mng_ticket_ended(struct mng *m, uint64_t order, struct mng_ticket_end *end);
void on_ticket(struct mng *m, struct mnode *n, const struct msg_ticket *g);
void tickets_tick(struct mng *m);
void tickets_peer_down(struct mng *m, peer_no p);
void tickets_free(struct mng *m);

#endif
