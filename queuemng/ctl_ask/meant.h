/* meant.h: names that the cluster does not know, and those that were meant. */
#ifndef SEGQ_CTL_MEANT_H
#define SEGQ_CTL_MEANT_H

#include "common/base/buf.h"
#include "queuemng/ctl_ask/ctl.h"

/* "; did you mean login?" behind a refusal with this code (queue_not_found, ...) if there is one of
 * that kind that is written almost so. */
void ctl_put_meant(const struct ctl *c, struct buf *b, const char *code, const char *name);
int ctl_say_no_queue(const struct ctl *c, const char *name); /* CTL_REFUSED */

#endif
