/* link_ask.h: questions that wait for the end of the turn, by link and kind; and what a link has:
 * data that ask.c, task_link.c share. Shell. */
#ifndef SEGQ_ROUTER_LINK_ASK_H
#define SEGQ_ROUTER_LINK_ASK_H

#include "router/state/node_links.h"
#include "router/task_requests/call.h"

struct task_link {
    struct node_link n;
    struct tasking *t;            /* ref */
    struct list open[ASK_NKINDS]; /* lists of struct ask */
    uint32_t reads;               /* pieces of long answers that are on their way */
    struct map sent;              /* request id -> struct sent (task_link.c), owned */
};

/* The question leaves with this turn, or when the link, which was never up, is. False: the node
 * cannot be reached now. */
SQ_CHECK bool task_link_ask(struct tasking *t, node_no node, struct ask *a);
bool task_link_is_up(const struct tasking *t, node_no node);

#endif
