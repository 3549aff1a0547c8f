/* json.h: JSON of others read, through jansson; JSON strings written out of any bytes: the only place
 * that escapes. Pure. Whatever a text quotes (names, headers, paths of strangers), what is written
 * stays JSON. */
#ifndef SEGQ_JSON_H
#define SEGQ_JSON_H

#include <jansson.h>

#include "common/base/buf.h"

/* Reads an object or a list that takes all of the n bytes, blanks around it apart. Duplicate members
 * are refused, and so is a NUL: jansson passes over one that follows a number. NULL: *e says
 * why (e may be NULL); e->line is -1 without a line. */
json_t *json_in(const char *p, size_t n, json_error_t *e);

/* A JSON string with its quotes. Quotes and backslashes are escaped, what is not printable
 * ASCII becomes '?': such bytes come from strangers, and are of no use to a reader. */
void json_ascii(struct buf *b, const char *s, size_t n);
/* The same of UTF-8, which stays; of what is none only ASCII does. */
void json_utf8(struct buf *b, const char *s, size_t n);

#endif
