/* node_dials.h: links to other nodes of the same kind, for as long as the table wants them. Their
 * channels have the life of all others (node_peers.h). Shell. */
#ifndef SEGQ_NODE_DIALS_H
#define SEGQ_NODE_DIALS_H

#include "common/node/node.h"
#include "common/wire/want.h"

struct node_dials {
    struct node *n;   /* ref */
    struct list v;    /* owned */
    struct buf last;  /* a list of struct node_want: as last looked at */
    bool look;        /* in any case: there was no memory, or links were taken back */
    void (*failed)(void *ctx, const char *name); /* told when a node cannot be reached. May be NULL */
    void *ctx;
};

void node_dials_init(struct node_dials *d, struct node *n,
                     void (*failed)(void *ctx, const char *name), void *ctx);
/* At the end of a turn, where no channel is inside a callback of ours: dials those that are not
 * dialled yet, drops those that are not wanted any more. */
void node_dials_look(struct node_dials *d, const struct node_want *v, size_t n);
/* Ends without telling anybody. Also for a zeroed struct. */
void node_dials_free(struct node_dials *d);

#endif
