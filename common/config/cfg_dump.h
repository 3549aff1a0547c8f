/* cfg_dump.h: a struct that a table fills, as YAML or JSON. Pure. */
#ifndef SEGQ_CFG_DUMP_H
#define SEGQ_CFG_DUMP_H

#include "common/base/buf.h"
#include "common/config/cfg_key.h"

/* The text reads back as an equal struct. */
void cfg_dump_yaml(struct buf *b, const void *src, const struct cfg_key *keys);
void cfg_dump_json(struct buf *b, const void *src, const struct cfg_key *keys);

#endif
