/* help.h: what commands there are. */
#ifndef SEGQ_CTL_HELP_H
#define SEGQ_CTL_HELP_H

#include "common/base/buf.h"

void cmd_help(struct buf *b); /* the list of them */
/* Prints the help of a command, or of those with this first word; argc >= 1. enum ctl_exit. */
int cmd_help_of(int argc, char **argv);
int cmd_man(int argc); /* the manual page, in roff; with arguments: CTL_USAGE */

#endif
