/* cost.h: units of a call whose caller names none: the rule of an endpoint, from the request's body. Pure. */
#ifndef SEGQ_COMMON_TASK_COST_H
#define SEGQ_COMMON_TASK_COST_H

#include "common/task/rules.h"

#define COST_HEADER_MAX    64  /* bytes of the name of a field */
#define COST_POINTER_MAX   128 /* bytes of a pointer into a body: "/usage/total_tokens" */
#define COST_PER_BYTE_MAX  1000
#define COST_PER_BYTE_PART 1000000 /* parts of a unit */

struct cost_rule {
    const char *pointer; /* borrowed; the member of the body that says how many are asked for; "": none */
    uint64_t per_byte;   /* parts of a unit for each byte of the body */
    uint64_t constant;
    uint64_t least;      /* also where the caller names a cost; 0, 1: any */
    uint64_t most;       /* bound of an estimate; 0: there is no rule */
};

static inline bool cost_has_rule(const struct cost_rule *r)
{
    return r->most != 0;
}

/* The cost of a call with a body of so many bytes, which asks for so many units; named: by its caller; 0:
 * it names none. */
uint64_t cost_estimate(const struct cost_rule *r, uint64_t named, uint64_t bytes, uint64_t asked);
/* A number of JSON as units, rounded up, TASK_COST_MAX at most. False: it is none, or below 0. */
bool cost_number(const char *p, size_t n, uint64_t *units);
/* Names of members with a slash before each: NULL, or what is wrong. */
const char *cost_pointer_wrong(const char *pointer);

#endif
