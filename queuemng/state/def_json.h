/* def_json.h: an operator's definition (a table of cfg_key.h) as JSON, for the store and for the
 * admin API. */
#ifndef SEGQ_QUEUEMNG_STATE_DEF_JSON_H
#define SEGQ_QUEUEMNG_STATE_DEF_JSON_H

#include "common/config/cfg.h"

struct json_t;

/* NULL: no memory. */
struct json_t *def_json(const void *def, const struct cfg_key *keys);
/* Reads what is stored under `key`; def is zeroed memory, and the caller's to clear, whatever comes. A
 * key of a newer version is passed over. */
SQ_CHECK int def_from_json(void *def, size_t size, const struct cfg_key *keys,
                           const struct json_t *j, const char *key, struct err *e);

#endif
