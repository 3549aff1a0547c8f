/* cfg_unknown.h: keys of a map that its table does not have. Pure. */
#ifndef SEGQ_CFG_UNKNOWN_H
#define SEGQ_CFG_UNKNOWN_H

#include "common/base/buf.h"
#include "common/config/cfg_key.h"
#include "common/config/cfg_node.h"

/* The first one; NULL: all are known. */
const struct cfg_node *cfg_unknown(const struct cfg_key *keys, const struct cfg_node *map);
/* "nodes, prt: unknown keys; did you mean node, port? allowed: node, port": all of them, what each
 * may mean, and all keys that there are. */
void cfg_unknown_text(struct buf *b, const struct cfg_key *keys, const struct cfg_node *map);

#endif
