/* help.h: the commands that there are, for those who ask: help, the manual page, shells that
 * complete words. */
#ifndef SEGQ_CTL_HELP_H
#define SEGQ_CTL_HELP_H

#include "common/base/buf.h"
#include "queuemng/ctl_ask/round_trip.h"

void cmd_help(struct buf *b); /* the list of them */
/* Prints the help of a command, or of those with this first word; at least one word. enum
 * ctl_exit. */
int cmd_help_of(char **argv);
int cmd_man(int argc); /* the manual page, in roff; with arguments: CTL_USAGE */
/* "bash": prints what bash has to read. "words" "cur:lo" "queue" "show": prints what
 * may stand at `lo`, behind the words before it, a line for each. */
int cmd_completion(struct ctl *c, char **argv);

#endif
