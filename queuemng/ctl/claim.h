/* claim.h: claims that an operator signs, and the move of a waiting ticket to another lane by
 * one. cmd_...: see commands.h. */
#ifndef SEGQ_CTL_CLAIM_H
#define SEGQ_CTL_CLAIM_H

#include "queuemng/ctl_ask/ctl.h"

int cmd_claim(struct ctl *c, int argc, char **argv);
int cmd_move_ticket(struct ctl *c, int argc, char **argv);

#endif
