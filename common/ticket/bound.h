/* bound.h: what a pass is bound to, if its ticket asked for it: the method and the path of the
 * requests that it is good for, and whether it is good once. Pure (jansson).
 * As text, for what is kept of the ticket: "1" (once) or "-", the method, a blank, the path; either
 * may be empty: "-GET /api/images", "1 ". */
#ifndef SEGQ_BOUND_H
#define SEGQ_BOUND_H

#include <jansson.h>

#include "common/base/base.h"

#define BOUND_HTM_MAX 16
#define BOUND_HTU_MAX 100
#define BOUND_MAX     (2 + BOUND_HTM_MAX + BOUND_HTU_MAX)

struct bound {
    bool once;
    char htm[BOUND_HTM_MAX + 1]; /* "": any */
    char htu[BOUND_HTU_MAX + 1]; /* likewise; also the paths below it */
};

/* The members htm, htu and use of an object; what is not there is empty. NULL, or what is wrong: one
 * sentence of ours. */
const char *bound_take(struct bound *b, const json_t *o);
static inline bool bound_is_none(const struct bound *b)
{
    return !b->once && b->htm[0] == '\0' && b->htu[0] == '\0';
}
/* Such texts: capital letters; a path without escapes, dots or a query. */
bool bound_htm_ok(const char *s);
bool bound_htu_ok(const char *s);
/* Number of bytes; 0: bound to nothing. */
size_t bound_write(const struct bound *b, char out[BOUND_MAX]);
SQ_CHECK bool bound_read(struct bound *b, const char *p, size_t n);

#endif
