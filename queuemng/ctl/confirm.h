/* confirm.h: orders that take something from waiting people: the operator confirms them.
 * cmd_...: see commands.h. */
#ifndef SEGQ_CTL_CONFIRM_H
#define SEGQ_CTL_CONFIRM_H

#include "common/base/buf.h"
#include "queuemng/ctl/ctl.h"

/* CTL_OK: go on. what: sentences about the consequences; name: to be typed. */
int ctl_sure(const struct ctl *c, const struct buf *what, const char *name);
int cmd_flush(struct ctl *c, int argc, char **argv);
int cmd_reject(struct ctl *c, int argc, char **argv);
int cmd_queue_delete(struct ctl *c, int argc, char **argv);
int cmd_queue_restore(struct ctl *c, int argc, char **argv);

#endif
