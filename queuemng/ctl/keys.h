/* keys.h: commands about pinned keys: QUEUE KEY. */
#ifndef SEGQ_CTL_KEYS_H
#define SEGQ_CTL_KEYS_H

#include "queuemng/ctl_ask/ctl.h"

int cmd_key_list(struct ctl *c, int argc, char **argv);
int cmd_key_show(struct ctl *c, int argc, char **argv);
int cmd_key_set(struct ctl *c, int argc, char **argv); /* pins it, if it is not */
int cmd_key_unpin(struct ctl *c, int argc, char **argv);
int cmd_key_pause(struct ctl *c, int argc, char **argv);
int cmd_key_resume(struct ctl *c, int argc, char **argv);

#endif
