/* cfg.h: configuration, from YAML text or from JSON, through one kind of table: all of it,
 * for those that have a configuration. Pure, but for cfg_parse_file(), cfg_load() and cfg_where(),
 * which read a file.
 *
 * A table says key, type, default, bounds, whether HUP may change it, and one line of
 * help. From it come: reading with errors that name file, line, key and what is allowed;
 * `-t` (the effective configuration as YAML); `-h` (the keys); the check of conf/ samples
 * and docs (`make check`). Unknown key, wrong type, out of range, duplicate key, YAML
 * alias or anchor, too deep, too big: refused, nothing is changed.
 * Memory: strings and lists set by a table belong to the struct; cfg_clear() frees them. */
#ifndef SEGQ_CFG_H
#define SEGQ_CFG_H

#include "common/config/cfg_bind.h"
#include "common/config/cfg_dump.h"
#include "common/config/cfg_key.h"
#include "common/config/cfg_load.h"
#include "common/config/cfg_node.h"

#endif
