/* files.h: definitions from and to files: export, diff, apply, edit. */
#ifndef SEGQ_CTL_FILES_H
#define SEGQ_CTL_FILES_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_export(struct ctl *c, char **argv);
int cmd_diff(struct ctl *c, char **argv); /* CTL_REFUSED: there are differences */
int cmd_apply(struct ctl *c, char **argv);
int cmd_edit(struct ctl *c, char **argv);

#endif
