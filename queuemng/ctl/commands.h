/* commands.h: the table of commands. A command gets its arguments in argv, without its own
 * name, and returns enum ctl_exit. */
#ifndef SEGQ_CTL_COMMANDS_H
#define SEGQ_CTL_COMMANDS_H

#include "common/base/buf.h"
#include "queuemng/ctl/ctl.h"

/* argv[0] is the command's name. */
int cmd_run(struct ctl *c, int argc, char **argv);
void cmd_help(struct buf *b); /* the list of them */
/* Of one, or of those with this first word; argc >= 1. It prints. */
int cmd_help_of(int argc, char **argv);

#endif
