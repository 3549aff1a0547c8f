/* let_in.h: who listens far away is told of the release in one way's time: MSG_LET_IN. Pure.
 *
 * A want is a poll that is here before its answer: once its ticket is released, and that is stored,
 * it is answered as a poll of that moment would be, and counts as one. So nothing is told that the
 * journal does not have, and a release that nobody fetches is a no-show only where nobody listens.
 * Any other answer than a pass is left to the router's next look. */
#ifndef SEGQ_SEG_REPLICA_LET_IN_H
#define SEGQ_SEG_REPLICA_LET_IN_H

#include "segment/core/state.h"

/* Takes what a router has said of its listeners. */
void let_in_wanted(struct segtab *t, struct peer *p, const struct msg_seen *m);
/* Says who is let in, behind a push. */
void let_in_say(struct segtab *t, struct peer *p, struct outbox *out);

#endif
