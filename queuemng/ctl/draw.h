/* draw.h: the command that checks a draw. See commands.h. */
#ifndef SEGQ_CTL_DRAW_H
#define SEGQ_CTL_DRAW_H

#include "queuemng/ctl_ask/ctl.h"

int cmd_draw(struct ctl *c, int argc, char **argv);

#endif
