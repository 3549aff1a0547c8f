/* files.h: definitions from and to files: export, diff, apply, edit. */
#ifndef SEGQ_CTL_FILES_H
#define SEGQ_CTL_FILES_H

#include <jansson.h>

#include "queuemng/ctl_ask/ctl.h"

int cmd_export(struct ctl *c, int argc, char **argv);
int cmd_diff(struct ctl *c, int argc, char **argv); /* CTL_REFUSED: there are differences */
int cmd_apply(struct ctl *c, int argc, char **argv);
/* What `set` (or `add`: is_new) would make of these keys. CTL_REFUSED: it changes something, as diff
 * has it. */
int cmd_would_change(struct ctl *c, const char *kind, const char *name, const json_t *keys, bool is_new);
int cmd_edit(struct ctl *c, int argc, char **argv);

#endif
