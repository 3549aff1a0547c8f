/* cfg_json.h: JSON to a tree. Pure. */
#ifndef SEGQ_CFG_JSON_H
#define SEGQ_CFG_JSON_H

#include "common/config/cfg_node.h"

SQ_CHECK int cfg_parse_json(struct cfg_node **out, const char *text, size_t n,
                            struct err *e);

#endif
