/* grow.h: arrays that grow by doubling. Pure. */
#ifndef SEGQ_GROW_H
#define SEGQ_GROW_H

#include <stdlib.h>

#include "common/base/base.h"

static inline void *grow_to(void *v, size_t cap, size_t size)
{
    return cap > SIZE_MAX / size ? NULL : realloc(v, cap * size);
}

/* Room for one more behind the n elements of the array v, which has room for cap (0: v is NULL;
 * it gets room for `first`). False: no memory, or cap's type is too small; nothing has changed
 * then. v and cap are lvalues, and may move. */
#define GROW(v, n, cap, first) GROW_BY(v, n, 1, cap, first)

/* The same for `more` elements. */
#define GROW_BY(v, n, more, cap, first)                                                  \
    ((size_t)(n) + (more) <= (cap) || ({                                                 \
         size_t want_ = (size_t)(n) + (more);                                            \
         size_t twice_ = (cap) != 0 ? (size_t)(cap) * 2 : (size_t)(first);               \
         size_t cap_ = twice_ > want_ ? twice_ : want_;                                  \
         bool fits_ = (__typeof__(cap))cap_ == cap_;                                     \
         void *v_ = fits_ ? grow_to((v), cap_, sizeof(*(v))) : NULL;                     \
                                                                                         \
         if (v_ != NULL) {                                                               \
             (v) = v_;                                                                   \
             (cap) = (__typeof__(cap))cap_;                                              \
         }                                                                               \
         v_ != NULL;                                                                     \
     }))

#endif
