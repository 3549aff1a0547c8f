/* tickets.h: commands about single tickets: claims that an operator signs, the move of a waiting
 * ticket to another lane by one, the check of a draw. See commands.h. */
#ifndef SEGQ_CTL_TICKETS_H
#define SEGQ_CTL_TICKETS_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_claim(struct ctl *c, char **argv);
int cmd_move_ticket(struct ctl *c, char **argv);
int cmd_draw(struct ctl *c, char **argv);

#endif
