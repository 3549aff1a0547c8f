/* fields_in.h: messages to our structs, by the tables of fields.h. Pure. */
#ifndef SEGQ_FIELDS_IN_H
#define SEGQ_FIELDS_IN_H

#include "common/wire/fields.h"

/* *s is zeroed. False: not valid, or no memory (a->failed). What *s points to is in `a`, or is
 * pb's. */
bool fields_take(const struct fields *t, const void *pb, struct arena *a, void *s);
/* The same of the bytes up to `end`, without protobuf-c, in a quarter of the time: for what is sent
 * often. What it takes fields_take() takes, too, with the same outcome (test_codec); what
 * no sender writes, a field number 0 or a message twice where there is one, it refuses. All that *s
 * points to is in `a`. */
bool fields_read(const struct fields *t, const uint8_t *p, const uint8_t *end, struct arena *a, void *s);

#endif
