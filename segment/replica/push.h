/* push.h: what routers are told of the lines of this node: MSG_REPLICA. Pure.
 *
 * A push compares each hosted segment with what was said of it last. What changed is said to all
 * routers that listen, in the same frames; then those that need everything get some frames of
 * their whole push; each push ends with a stamp for each router. So a whole push always
 * continues from the state that all others have, too.
 *
 * Pushes are part of a step: what the journal does not keep is taken back with the rest of the
 * turn (segment/service/journal.h), and the new table has no listeners. */
#ifndef SEGQ_SEG_REPLICA_PUSH_H
#define SEGQ_SEG_REPLICA_PUSH_H

#include "segment/core/state.h"

/* At each tick, and at the end of a step with replica.now. */
void replica_push(struct segtab *t, struct outbox *out);
void replica_fini(struct segtab *t);

#endif
