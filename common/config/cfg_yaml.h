/* cfg_yaml.h: YAML to a tree. Pure, but for cfg_parse_file(), which reads a file. */
#ifndef SEGQ_CFG_YAML_H
#define SEGQ_CFG_YAML_H

#include "common/config/cfg_node.h"

SQ_CHECK int cfg_parse_yaml(struct cfg_node **out, const char *text, size_t n,
                            const char *file, struct err *e);
SQ_CHECK int cfg_parse_file(struct cfg_node **out, const char *file, struct err *e); /* YAML */

#endif
