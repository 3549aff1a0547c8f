/* put.h: text composed at a pointer: each function writes there, and returns its end. Pure.
 * The caller has made room for all of it before, once. */
#ifndef SEGQ_PUT_H
#define SEGQ_PUT_H

#include <string.h>

#include "common/base/decimal.h"

static inline char *put_bytes(char *w, const void *p, size_t n)
{
    if (n > 0) /* of an empty text there may not even be an address */
        memcpy(w, p, n);
    return w + n;
}

static inline char *put_str(char *w, const char *s)
{
    return put_bytes(w, s, strlen(s));
}

#define PUT(w, lit) put_bytes(w, lit, sizeof(lit) - 1)

#endif
