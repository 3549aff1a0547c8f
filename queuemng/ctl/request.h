/* request.h: the request that a row of the table of commands (commands.h) makes of the words
 * behind it; and commands about tasks that are a row and a word more. All return enum ctl_exit. */
#ifndef SEGQ_CTL_REQUEST_H
#define SEGQ_CTL_REQUEST_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_request(struct ctl *c, char **argv); /* c->cmd is the row */

#define QUERY_MAX 900 /* bytes of a path with its query, and its end */
/* Appends NAME=VALUE, encoded; false: it is too long, which has been said: cut it would be
 * another one. */
bool query_add(char path[QUERY_MAX], const char *name, const char *value);

int cmd_task_list(struct ctl *c, char **argv);
int cmd_task_keys(struct ctl *c, char **argv);
int cmd_task_redrive_all(struct ctl *c, char **argv);
int cmd_task_redrive(struct ctl *c, char **argv);
int cmd_pool_hold(struct ctl *c, char **argv);

/* Segqctl's commands about schedules of task queues. */
/* QUEUE: a list; WORD QUEUE SCHEDULE [KEY=VALUE]...: one. Returns enum ctl_exit. */
int cmd_task_schedules(struct ctl *c, char **argv);

#endif
