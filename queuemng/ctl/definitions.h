/* definitions.h: queues, pools, endpoints, budgets: made, changed and deleted by KEY=VALUE words. */
#ifndef SEGQ_CTL_DEFINITIONS_H
#define SEGQ_CTL_DEFINITIONS_H

#include "queuemng/ctl/ctl.h"

int cmd_queue_set(struct ctl *c, int argc, char **argv);
int cmd_queue_add(struct ctl *c, int argc, char **argv);
int cmd_pool_set(struct ctl *c, int argc, char **argv);
int cmd_pool_add(struct ctl *c, int argc, char **argv);
int cmd_pool_delete(struct ctl *c, int argc, char **argv);
int cmd_endpoint_show(struct ctl *c, int argc, char **argv);
int cmd_endpoint_set(struct ctl *c, int argc, char **argv);
int cmd_endpoint_add(struct ctl *c, int argc, char **argv);
int cmd_endpoint_delete(struct ctl *c, int argc, char **argv);
int cmd_endpoint_probe(struct ctl *c, int argc, char **argv); /* and shows what came */
int cmd_budget_set(struct ctl *c, int argc, char **argv);
int cmd_budget_add(struct ctl *c, int argc, char **argv);

#endif
