/* rules.h: the numbers of a queue that segment nodes need, named once. Of this list are made:
 * message RULES (struct, codec, and their test), the node's queue (struct, comparison with what
 * comes, digest), and its record in the journal, which has them in this order. Pure.
 *
 * A new one: a line at the end of the list, and JOURNAL_FORMAT + 1 (PROTOCOL.md, section 17);
 * its field in proto/segment_manager.proto; its value in queuemng/chain/reconcile.c; its use. */
#ifndef SEGQ_RULES_H
#define SEGQ_RULES_H

#include "common/base/base.h"

#define NODE_RULES(X)                                                                    \
    X(claim_ms)   /* from release until a ready ticket is a no-show */                   \
    X(grace_ms)   /* after that: may still come back, to the front */                    \
    X(pass_ttl_s)

#define NODE_RULES_MEMBER(f) uint32_t f; /* a member of the structs that have them all */

#endif
