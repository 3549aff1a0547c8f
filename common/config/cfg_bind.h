/* cfg_bind.h: a tree to a struct, by a table; a struct to another one. Pure. */
#ifndef SEGQ_CFG_BIND_H
#define SEGQ_CFG_BIND_H

#include "common/config/cfg_key.h"
#include "common/config/cfg_node.h"

/* dst must be zeroed or have been set before (then it is replaced). Defaults fill what is
 * absent. `file` goes into errors. On error dst is as it was. */
SQ_CHECK int cfg_bind(void *dst, size_t dst_size, const struct cfg_key *keys,
                      const struct cfg_node *doc, const char *file, struct err *e);
/* Like cfg_bind, but keys that the table does not have are passed over: for what a newer
 * version may have written down. */
SQ_CHECK int cfg_bind_stored(void *dst, size_t dst_size, const struct cfg_key *keys,
                             const struct cfg_node *doc, const char *file, struct err *e);
/* The same of JSON text. */
SQ_CHECK int cfg_read_json(void *dst, size_t dst_size, const struct cfg_key *keys, const char *json, size_t n,
                           const char *file, struct err *e);
/* Like cfg_bind, but what is absent keeps its value in dst (PATCH). */
SQ_CHECK int cfg_patch(void *dst, size_t dst_size, const struct cfg_key *keys,
                       const struct cfg_node *doc, const char *file, struct err *e);
/* dst becomes as src. */
SQ_CHECK int cfg_copy(void *dst, size_t size, const struct cfg_key *keys, const void *src);

#endif
