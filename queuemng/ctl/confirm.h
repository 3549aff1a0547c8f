/* confirm.h: orders that take something from waiting people: the operator confirms them. */
#ifndef SEGQ_CTL_CONFIRM_H
#define SEGQ_CTL_CONFIRM_H

#include "common/base/buf.h"
#include "queuemng/ctl_ask/ctl.h"
#include "queuemng/ctl_view/risk_view.h"

/* CTL_OK: go on. what: sentences about the consequences; name: to be typed. */
int ctl_sure(const struct ctl *c, const struct buf *what, const char *name);
/* The same for an order about a queue, with the number of its people. */
int ctl_is_sure(const struct ctl *c, enum risk risk, const char *queue);
int cmd_queue_delete(struct ctl *c, int argc, char **argv); /* see commands.h */

#endif
