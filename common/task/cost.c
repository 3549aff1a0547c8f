/* cost.c: see cost.h. */
#include "common/task/cost.h"

#include <stdlib.h>
#include <string.h>

uint64_t cost_estimate(const struct cost_rule *r, uint64_t named, uint64_t bytes, uint64_t asked)
{
    unsigned __int128 all = (unsigned __int128)bytes * r->per_byte + COST_PER_BYTE_PART - 1;
    uint64_t least = u64_max(r->least, 1);

    if (named != 0)
        return u64_max(named, least);
    all = all / COST_PER_BYTE_PART + asked + r->constant;
    return u64_max(all < r->most ? (uint64_t)all : r->most, least);
}

bool cost_number(const char *p, size_t n, uint64_t *units)
{
    char text[128], *end;
    double v;

    if (n == 0 || (p[0] != '-' && (p[0] < '0' || p[0] > '9')))
        return false;
    *units = TASK_COST_MAX;
    if (n >= sizeof(text)) /* to be overlooked, as such a limit would be */
        return true;
    memcpy(text, p, n);
    text[n] = '\0';
    if (strspn(text, "0123456789+-.eE") != n)
        return false;
    v = strtod(text, &end);
    if (*end != '\0' || !(v >= 0))
        return false;
    if (v < TASK_COST_MAX)
        *units = (uint64_t)v + ((double)(uint64_t)v < v);
    return true;
}

const char *cost_pointer_wrong(const char *pointer)
{
    return pointer[0] != '/' || strstr(pointer, "//") != NULL || strchr(pointer, '~') != NULL ||
                   pointer[strlen(pointer) - 1] == '/'
               ? "a slash before each name (/model), no ~" : NULL;
}
