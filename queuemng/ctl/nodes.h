/* nodes.h: the commands that take segment nodes away. See commands.h. */
#ifndef SEGQ_CTL_NODES_H
#define SEGQ_CTL_NODES_H

#include "queuemng/ctl_ask/ctl.h"

int cmd_drain(struct ctl *c, int argc, char **argv);
int cmd_forget(struct ctl *c, int argc, char **argv);

#endif
