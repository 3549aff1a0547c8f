/* replica_feed.h: MSG_REPLICA comes in, MSG_SEEN goes out: when. Shell.
 * One timer for all links, as long as polls may be answered from the replica at all
 * (`replica_fresh`). A node's first SEEN goes out when its link is up. */
#ifndef SEGQ_ROUTER_REPLICA_FEED_H
#define SEGQ_ROUTER_REPLICA_FEED_H

#include "router/links/seg_links.h"

SQ_CHECK int replica_feed_init(struct seg_links *s);
void replica_feed_fini(struct seg_links *s);
void replica_feed_up(struct seg_link *l);
void replica_feed_down(struct seg_link *l);
/* 0, or SQ_EPROTO: it does not follow what was said before. */
SQ_CHECK int replica_feed_in(struct seg_link *l, const struct msg_replica *m);
/* Was the refused frame a SEEN? Then the node is older, and gets no other one. */
bool replica_feed_refused(struct seg_link *l, uint64_t rid);
/* Ends: nobody is answered any more, nodes hear of all that were, then `done`; at once, if none has to.
 * A node that does not confirm it in a moment is not waited for. */
void replica_feed_farewell(struct seg_links *s, ev_fn done, void *arg);

#endif
