/* definitions.h: what a row of the table of commands cannot say: deletes that may be final, an endpoint
 * with what it does now, one that cannot be called, a probe that is waited for. */
#ifndef SEGQ_CTL_DEFINITIONS_H
#define SEGQ_CTL_DEFINITIONS_H

#include "queuemng/ctl_ask/ctl.h"

/* Deletes a pool, an endpoint or a budget: NAME [final]. */
int definition_delete(struct ctl *c, const char *kind, int argc, char **argv);
int cmd_endpoint_show(struct ctl *c, int argc, char **argv);
/* Says so if calls to it are refused by its own `allow`, which is known of numbers and localhost. */
void endpoint_hint(struct ctl *c, const char *name);
int cmd_endpoint_probe(struct ctl *c, int argc, char **argv); /* and shows what came */

#endif
