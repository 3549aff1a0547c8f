/* run.h: one command. */
#ifndef SEGQ_CTL_RUN_H
#define SEGQ_CTL_RUN_H

#include "queuemng/ctl_ask/ctl.h"

/* argv[0] is the command's first word. enum ctl_exit. */
int cmd_run(struct ctl *c, int argc, char **argv);

#endif
