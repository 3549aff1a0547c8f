/* numbers.h: numbers of a command line; false: it is none, or out of its bounds. */
#ifndef SEGQ_BENCH_NUMBERS_H
#define SEGQ_BENCH_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool number(const char *s, double min, double max, double *out)
{
    char *end;

    *out = strtod(s, &end);
    return end != s && *end == '\0' && *out >= min && *out <= max;
}

/* 1 to max. */
static inline bool whole(const char *s, uint32_t max, uint32_t *out)
{
    double v;

    if (!number(s, 1, max, &v) || v != (uint32_t)v)
        return false;
    *out = (uint32_t)v;
    return true;
}

#endif
