/* seg_link.h: one link to each segment node of the chain map, and what comes in: answers, passes that
 * ended, sessions that last longer, the replica. Shell. When a link breaks, node_links.h says what
 * follows.
 *
 * MSG_SEEN (polls that were answered from the replica) goes out by one timer for all links, as long as
 * polls may be answered so at all (`replica_fresh`). A node's first one goes out when its link is up. */
#ifndef SEGQ_SEG_LINK_H
#define SEGQ_SEG_LINK_H

#include "router/links/flows.h"
#include "router/state/router.h"

struct seg_links *seg_links_new(struct router *r); /* NULL: no memory */
void seg_links_free(struct seg_links *s);
/* Dials and drops as the chain map's nodes say. */
void seg_links_sync(struct seg_links *s);

/* Ends: nobody is answered any more, nodes hear of all that were, then `done`; at once, if none has to.
 * A node that does not confirm it in a moment is not waited for. */
void seg_links_farewell(struct seg_links *s, ev_fn done, void *arg);

#endif
