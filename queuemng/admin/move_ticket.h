/* move_ticket.h: POST /v1/admin/queues/NAME/tickets/TICKET/move. */
#ifndef SEGQ_MNG_MOVE_TICKET_H
#define SEGQ_MNG_MOVE_TICKET_H

#include "queuemng/admin/answers.h"

void admin_move_ticket(struct admin_call *c, const char *path);
/* Answers that wait for a ticket on its way to another lane. */
void mng_tickets_answer(struct mng_service *s);
void mng_tickets_end(struct mng_service *s); /* a term is over */

#endif
