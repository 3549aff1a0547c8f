#include "common/redis/redis_args.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void redis_args_fini(struct redis_args *a)
{
    free(a->v);
    free(a->len);
    memset(a, 0, sizeof(*a));
}

static bool args_grow(struct redis_args *a)
{
    size_t cap = a->cap != 0 ? a->cap * 2 : 16;
    const char **v = realloc(a->v, cap * sizeof(*v));
    size_t *len;

    if (v == NULL)
        return false;
    a->v = v;
    len = realloc(a->len, cap * sizeof(*len));
    if (len == NULL)
        return false;
    a->len = len;
    a->cap = cap;
    return true;
}

void redis_arg(struct redis_args *a, const char *p, size_t n)
{
    if (a->failed || (a->n == a->cap && !args_grow(a))) {
        a->failed = true;
        return;
    }
    assert(a->n < a->cap);
    a->v[a->n] = p;
    a->len[a->n++] = n;
}

void redis_arg_str(struct redis_args *a, const char *s)
{
    redis_arg(a, s, strlen(s));
}
