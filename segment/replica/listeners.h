/* listeners.h: routers that answer polls from the replica, as the node sees them. Pure.
 *
 *   in    marks of polls that they answered (MSG_SEEN): each counts as a poll here; and wants: tickets
 *         to which somebody listens far away (core/wants.h)
 *   out   who of these is let in (MSG_LET_IN), told in one way's time, behind a push (push.h)
 *
 * A want is a poll that is here before its answer: once its ticket is released, and that is stored,
 * it is answered as a poll of that moment would be, and counts as one. So nothing is told that the
 * journal does not have, and a release that nobody fetches is a no-show only where nobody listens.
 * Any other answer than a pass is left to the router's next look. */
#ifndef SEGQ_SEG_REPLICA_LISTENERS_H
#define SEGQ_SEG_REPLICA_LISTENERS_H

#include "segment/core/state.h"

/* The first of a router makes it a listener: its whole push begins with this step. Of marks that
 * nobody waits for any more nothing happens. */
void replica_seen(struct segtab *t, peer_no from, const struct msg_seen *m);
/* Sets how many bytes this router has not read; before a tick. */
void segtab_pending(struct segtab *t, peer_no router, size_t bytes);
/* Before time-outs are looked at: nobody's comes while a router is silent that answers polls. Its
 * people may be told to come again meanwhile, and their marks be late, or lost with the link. */
void replica_spare(struct segtab *t);
/* The link of a router has ended: without its farewell it may have told people what nobody will
 * say any more (tickets/timeouts.h). */
void replica_gone(struct segtab *t, struct listener *l);
/* Says who is let in, behind a push. */
void let_in_say(struct segtab *t, struct peer *p, struct outbox *out);

#endif
