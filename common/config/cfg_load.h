/* cfg_load.h: YAML to a tree (pure, but for cfg_parse_file()); the usual start: a file, `--set`s, a table; and the line that a wrong value came from.
 * It reads the file. Shell. */
#ifndef SEGQ_CFG_LOAD_H
#define SEGQ_CFG_LOAD_H

#include "common/config/cfg_key.h"
#include "common/config/cfg_node.h"

SQ_CHECK int cfg_parse_yaml(struct cfg_node **out, const char *text, size_t n,
                            const char *file, struct err *e);
SQ_CHECK int cfg_parse_file(struct cfg_node **out, const char *file, struct err *e); /* YAML */

/* Puts KEY=VALUE into a parsed document (a map): a.b=v; lists of texts as v,w; entries of
 * lists of maps by number or name (queues.login.merge=false); maps as YAML. */
SQ_CHECK int cfg_set(struct cfg_node *doc, const struct cfg_key *keys, const char *set,
                     struct err *e);
/* Usual start: read `file` (NULL = defaults only), apply `--set KEY=VALUE`s (dotted keys),
 * bind. */
SQ_CHECK int cfg_load(void *dst, size_t size, const struct cfg_key *keys, const char *file,
                      const char *const *sets, size_t n_sets, struct err *e);
/* Reports an error in a loaded file that a table cannot find: puts file and line in front of
 * the sentence, if the keys that it begins with are found there. */
void cfg_where(struct err *e, const struct cfg_key *keys, const char *file,
               const char *const *sets, size_t n_sets);

#endif
