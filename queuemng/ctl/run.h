/* run.h: one command. */
#ifndef SEGQ_CTL_RUN_H
#define SEGQ_CTL_RUN_H

#include "queuemng/ctl/commands.h"

/* By the first word, or the first two; NULL: there is none. */
const struct cmd *cmd_find(int argc, char **argv);
/* argv[0] is the command's first word. enum ctl_exit. */
int cmd_run(struct ctl *c, int argc, char **argv);

#endif
