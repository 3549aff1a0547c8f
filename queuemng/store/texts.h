/* texts.h: a list of texts that is copied from a configuration, and owned. Pure. */
#ifndef SEGQ_TEXTS_H
#define SEGQ_TEXTS_H

#include "common/base/base.h"

struct texts {
    char **v; /* owned, and each of them */
    size_t n;
};
/* Into a list that is zero. SQ_ENOMEM: texts_free() is due all the same. */
SQ_CHECK int texts_copy(struct texts *t, char *const *v, size_t n);
void texts_free(struct texts *t);

#endif
