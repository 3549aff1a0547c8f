/* cfg_where.h: the line of a file that a wrong value came from. It reads the file. Shell. */
#ifndef SEGQ_CFG_WHERE_H
#define SEGQ_CFG_WHERE_H

#include "common/base/err.h"
#include "common/config/cfg_key.h"

/* Reports an error in a loaded file that a table cannot find: puts file and line in front of
 * the sentence, if the keys that it begins with are found there. */
void cfg_where(struct err *e, const struct cfg_key *keys, const char *file,
               const char *const *sets, size_t n_sets);

#endif
