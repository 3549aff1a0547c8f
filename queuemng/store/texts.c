#include "queuemng/store/texts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

int texts_copy(struct texts *t, char *const *v, size_t n)
{
    assert(t->n == 0);
    t->v = n != 0 ? calloc(n, sizeof(*t->v)) : NULL;
    if (n != 0 && t->v == NULL)
        return SQ_ENOMEM;
    for (; t->n < n; t->n++) {
        t->v[t->n] = strdup(v[t->n]);
        if (t->v[t->n] == NULL)
            return SQ_ENOMEM;
    }
    return 0;
}

void texts_free(struct texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    free(t->v);
    t->v = NULL;
    t->n = 0;
}
