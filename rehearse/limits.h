/* limits.h: how full each part of the cluster was in a night, and what breaks first. Pure. */
#ifndef SEGQ_REHEARSE_LIMITS_H
#define SEGQ_REHEARSE_LIMITS_H

#include "rehearse/figures.h"

#define LIMITS 6

struct limit {
    const char *what;
    double share;   /* part of what there is, at most, over ten seconds; 1 and more: it breaks */
    uint32_t at_s;  /* when it broke, or was fullest */
    char next[160]; /* the step that helps */
};

/* Parts that broke, by time; then the others, the fullest first. Returns how many broke. */
unsigned limits_of(const struct figures *f, const struct night *n, struct limit out[LIMITS]);

#endif
