/* fair.h: something is divided among some who want different amounts of it, max-min fair by weight:
 * what one does not want goes to the others, and what nobody wants to all. Units are whole; where
 * there are too few for all, the first of the list have them. Pure. */
#ifndef SEGQ_FAIR_H
#define SEGQ_FAIR_H

#include <stddef.h>

#include "common/base/base.h"

struct fair { /* a member */
    uint64_t wants;
    uint64_t least;  /* part that it gets before anybody gets more, whatever it wants */
    uint64_t weight; /* 1 to 1000 */
    uint64_t has;    /* by the division before */
    uint64_t part;   /* by this one */
};

/* The sum of the parts is the whole, if there is anybody; whole: at most 2^50. What they have stays
 * as it is while that is the whole, and nobody is further from what is fair than by an eighth: so
 * parts do not follow each little change. */
void fair_divide(struct fair *v, size_t n, uint64_t whole);

#endif
