/* contexts.h: the operator's clusters by name: listed, added, chosen. */
#ifndef SEGQ_CTL_CONTEXTS_H
#define SEGQ_CTL_CONTEXTS_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_context_list(struct ctl *c, char **argv);
int cmd_context_show(struct ctl *c, char **argv);
int cmd_context_use(struct ctl *c, char **argv);
int cmd_context_add(struct ctl *c, char **argv);
int cmd_context_set(struct ctl *c, char **argv);
int cmd_context_delete(struct ctl *c, char **argv);

#endif
