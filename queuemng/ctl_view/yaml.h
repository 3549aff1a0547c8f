/* yaml.h: an answer as YAML, by libyaml: what is no text as YAML 1.1 reads it is quoted. Pure. */
#ifndef SEGQ_CTL_YAML_H
#define SEGQ_CTL_YAML_H

#include <jansson.h>

#include "common/base/buf.h"

/* Writes a document, its members in their order. False: no memory. */
SQ_CHECK bool yaml_put(struct buf *b, const json_t *doc);

#endif
