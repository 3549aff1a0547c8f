/* cfg_help.h: the keys of a table, for -h. Pure. */
#ifndef SEGQ_CFG_HELP_H
#define SEGQ_CFG_HELP_H

#include "common/base/buf.h"
#include "common/config/cfg_key.h"

void cfg_help(struct buf *b, const struct cfg_key *keys);   /* for -h */
/* The same of keys that no process has in its file: what SIGHUP changes is not told. */
void cfg_help_keys(struct buf *b, const struct cfg_key *keys);

#endif
