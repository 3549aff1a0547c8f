/* completion.h: words for a shell to complete, from the table of commands and from the cluster. */
#ifndef SEGQ_CTL_COMPLETION_H
#define SEGQ_CTL_COMPLETION_H

#include "queuemng/ctl_ask/ctl.h"

/* "bash": prints what bash has to read. "words" "cur:lo" "queue" "show": prints what
 * may stand at `lo`, behind the words before it, a line for each. */
int cmd_completion(struct ctl *c, int argc, char **argv);

#endif
