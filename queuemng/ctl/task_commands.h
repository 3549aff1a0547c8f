/* task_commands.h: the commands about tasks and their queues. See commands.h. */
#ifndef SEGQ_CTL_TASK_COMMANDS_H
#define SEGQ_CTL_TASK_COMMANDS_H

#include "queuemng/ctl_ask/ctl.h"

int cmd_task_list(struct ctl *c, int argc, char **argv);
int cmd_task_schedules(struct ctl *c, int argc, char **argv);
int cmd_task_keys(struct ctl *c, int argc, char **argv);
int cmd_task_cancel_all(struct ctl *c, int argc, char **argv);
int cmd_task_redrive_all(struct ctl *c, int argc, char **argv);
int cmd_task_discard_all(struct ctl *c, int argc, char **argv);
int cmd_task_pause(struct ctl *c, int argc, char **argv);
int cmd_task_resume(struct ctl *c, int argc, char **argv);

/* Commands about pinned keys: QUEUE KEY. */

int cmd_key_set(struct ctl *c, int argc, char **argv); /* pins it, if it is not */
int cmd_key_pause(struct ctl *c, int argc, char **argv);
int cmd_key_resume(struct ctl *c, int argc, char **argv);

#endif
