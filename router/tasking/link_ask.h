/* link_ask.h: questions that wait for the end of the turn, by link and kind; and what a link has:
 * data that ask.c, task_link.c share. Shell. */
#ifndef SEGQ_ROUTER_LINK_ASK_H
#define SEGQ_ROUTER_LINK_ASK_H

#include "router/tasking/call.h"

struct task_link {
    struct tasking *t; /* ref */
    struct rpc_link *link;
    struct rpc_chan *ch; /* NULL: down */
    bool failed; /* since it was last up: do not let anybody wait for it */
    bool stays;  /* in the newest map */
    char name[NAME_MAX_LEN + 1], addr[64];
    struct list open[ASK_NKINDS]; /* of struct ask */
    struct map sent;              /* request id -> struct sent (task_link.c), owned */
};

/* The question leaves with this turn, or when the link, which was never up, is. False: the node
 * cannot be reached now. */
SQ_CHECK bool task_link_ask(struct tasking *t, node_no node, struct ask *a);
bool task_link_is_up(const struct tasking *t, node_no node);
void tasking_links_count(const struct tasking *t, size_t *up, size_t *of);

#endif
