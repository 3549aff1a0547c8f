/* confirm.h: orders that take something from waiting people: the operator confirms them. */
#ifndef SEGQ_CTL_CONFIRM_H
#define SEGQ_CTL_CONFIRM_H

#include "common/base/buf.h"
#include "queuemng/ctl_ask/ctl.h"
#include "queuemng/ctl_view/risk_view.h"

/* CTL_OK: go on; never with --dry-run, which prints the consequences. what: sentences about them;
 * name: to be typed. */
int ctl_sure(const struct ctl *c, const struct buf *what, const char *name);
int ctl_sure_of(const struct ctl *c, const char *text, const char *name);
/* The same for an order about a queue, with the number of its people. */
int ctl_is_sure(const struct ctl *c, enum risk risk, const char *queue);
/* The same if n is more than goes in by itself in a minute. */
int ctl_release_is_sure(const struct ctl *c, const char *queue, uint64_t n);
int cmd_queue_delete(struct ctl *c, int argc, char **argv); /* see commands.h */

#endif
