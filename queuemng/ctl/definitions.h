/* definitions.h: one definition that a command changes: what it has changed, what it would, what
 * is beside it; and the commands about definitions that are more than a row. All with an int
 * return enum ctl_exit. */
#ifndef SEGQ_CTL_DEFINITIONS_H
#define SEGQ_CTL_DEFINITIONS_H

#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/policy/def_kind.h"

/* The definition; NULL and CTL_OK: there is none of this name. queue: of a key; else NULL. New
 * reference. */
json_t *definition_get(const struct ctl *c, const struct def_kind *kind, const char *queue,
                       const char *name,
                       int *rc);
/* Sends a change of a definition, whose answer is the new one; prints what has changed. */
int definition_change(struct ctl *c, const struct def_kind *kind, struct ctl_call call);
/* Prints the warning in the answer to a change, if there is one. */
void definition_warns(const json_t *now);
/* Shows what this call would make of it. CTL_REFUSED: it changes something, as diff has it. */
int definition_would_change(struct ctl *c, const struct def_kind *kind, struct ctl_call call);

int cmd_delete(struct ctl *c, char **argv); /* NAME [final]: one of c->cmd's kind */
int cmd_tiers(struct ctl *c, char **argv);
int cmd_endpoint_show(struct ctl *c, char **argv);
int cmd_endpoint_probe(struct ctl *c, char **argv); /* and shows what came */
int cmd_key_set(struct ctl *c, char **argv);        /* pins it, if it is not */
int cmd_key_hold(struct ctl *c, char **argv);       /* pauses and resumes it */

#endif
