/* poll_marks.h: what routers say of polls that they answered themselves (MSG_SEEN), and of
 * themselves. Pure. */
#ifndef SEGQ_SEG_REPLICA_POLL_MARKS_H
#define SEGQ_SEG_REPLICA_POLL_MARKS_H

#include "segment/core/state.h"

/* The first of a router makes it a listener: its whole push begins with this step. Each mark
 * counts as a poll; of those that nobody waits for any more nothing happens. */
void replica_seen(struct segtab *t, peer_no from, const struct msg_seen *m);
/* Sets how many bytes this router has not read; before a tick. */
void segtab_pending(struct segtab *t, peer_no router, size_t bytes);
/* Before time-outs are looked at: nobody's comes while a router is silent that answers polls. Its
 * people may be told to come again meanwhile, and their marks be late, or lost with the link. */
void replica_spare(struct segtab *t);
/* The link of a router has ended: without its farewell it may have told people what nobody will
 * say any more (tickets/timeouts.h). */
void replica_gone(struct segtab *t, struct listener *l);

#endif
