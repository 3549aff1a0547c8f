/* steer.h: short commands for a launch night: message, rate, limits, log of changes. See
 * commands.h. */
#ifndef SEGQ_CTL_STEER_H
#define SEGQ_CTL_STEER_H

#include "queuemng/ctl_ask/ctl.h"

int cmd_message(struct ctl *c, int argc, char **argv);
int cmd_rate(struct ctl *c, int argc, char **argv);
int cmd_max(struct ctl *c, int argc, char **argv);
int cmd_tiers(struct ctl *c, int argc, char **argv);
int cmd_audit(struct ctl *c, int argc, char **argv);

#endif
