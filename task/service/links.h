/* links.h: the node's links: routers that connect, managers that we dial; their messages. Shell. */
#ifndef SEGQ_TASK_LINKS_H
#define SEGQ_TASK_LINKS_H

#include "common/config/cfg.h"
#include "task/service/state.h"

SQ_CHECK int task_links_listen(struct task_service *s, const char *addr, struct err *e);
SQ_CHECK int task_links_dial(struct task_service *s, const struct cfg_list *managers,
                             struct err *e);
/* Dials the leader that a standby manager has named in this turn, if we do not know it. */
void task_links_follow(struct task_service *s);
/* All that is in s->out, which is empty then. */
void task_links_send(struct task_service *s);
/* Nothing that was said in this turn is sent: all links end, and nobody is connected. */
void task_links_take_back(struct task_service *s);
void task_links_free(struct task_service *s);

#endif
