/* files.h: definitions from and to files: export, diff, apply, edit. */
#ifndef SEGQ_CTL_FILES_H
#define SEGQ_CTL_FILES_H

#include <jansson.h>

#include "queuemng/ctl_ask/ctl.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_ask/round_trip.h"

int cmd_export(struct ctl *c, int argc, char **argv);
int cmd_diff(struct ctl *c, int argc, char **argv); /* CTL_REFUSED: there are differences */
int cmd_apply(struct ctl *c, int argc, char **argv);
/* Shows what `set` (or `add`: is_new) would make of these keys. CTL_REFUSED: it changes something, as diff
 * has it. */
int cmd_would_change(struct ctl *c, const char *kind, const char *name, const json_t *keys, bool is_new);
/* The definition; NULL and CTL_OK: there is none of this name. queue: of a key; else NULL. New reference. */
json_t *ctl_definition(const struct ctl *c, const struct def_kind *kind, const char *queue,
                       const char *name, int *rc);
/* The same of a definition that has been looked up: now is NULL, if there is none yet. */
int ctl_would_change(const struct def_kind *kind, const char *name, const json_t *now, const json_t *keys);
/* Sends a change of a definition, whose answer is the new one; prints what has changed. */
int cmd_change(struct ctl *c, const char *kind, struct ctl_call call);
/* The same of one at another path than its kind's; was: before it; NULL: there was none. */
int ctl_change(const struct ctl *c, const struct def_kind *kind, const json_t *was, struct ctl_call call);
int cmd_edit(struct ctl *c, int argc, char **argv);

#endif
