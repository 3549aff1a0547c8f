/* json_in.h: JSON of others, through jansson. Pure. */
#ifndef SEGQ_JSON_IN_H
#define SEGQ_JSON_IN_H

#include <jansson.h>

#include "common/base/base.h"

/* Reads an object or a list that takes all of the n bytes, blanks around it apart. Duplicate members
 * are refused, and so is a NUL: jansson passes over one that follows a number. NULL: *e says
 * why (e may be NULL); e->line is -1 without a line. */
json_t *json_in(const char *p, size_t n, json_error_t *e);

#endif
