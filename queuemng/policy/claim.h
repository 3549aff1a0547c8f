/* claim.h: some share a rate and a number of things at once (slots): each has a part of both by what
 * it could use, max-min fair by weight. Pure. */
#ifndef SEGQ_CLAIM_H
#define SEGQ_CLAIM_H

#include <stddef.h>

#include "common/wire/msg_task_manager.h"

/* Something is divided among some who want different amounts of it, max-min fair by weight:
 * what one does not want goes to the others, and what nobody wants to all. Units are whole; where
 * there are too few for all, the first of the list have them. Pure. */

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

struct bears { /* ENDPOINT_ANY: any */
    uint64_t rate; /* per 1000 s */
    uint64_t slots;
    uint64_t units;  /* parts of its own rates in units, of UNIT_PARTS */
    uint64_t shared; /* parts of its budget's, of UNIT_PARTS; of a budget: of its own */
};

struct claim { /* a member */
    struct bears wants, wanted; /* usable: by the last second, and by the one before */
    struct bears aim;           /* part that it gets */
    msec_t since_ms;            /* since when that is no slot, or some */
    uint64_t weight;            /* 1 to 1000 */
    uint64_t no;                /* order among equals: the lower goes first */
    bool people;                /* no part of `shared`: who is let in costs no units */
    uint8_t turn;               /* turn in a division: see the source */
};

/* Each second: what it could use. The higher one of the last two seconds counts. */
void claim_says(struct claim *c, struct bears wants);
/* Sets all aims; their sums are the whole, where that is not any. With fewer slots than claims those
 * that want one have it, for five seconds each while others want it, too. Who has no slot has no
 * rate, and no units; who has one has a little of them, whatever it wants. v is sorted; f: room for n. */
void claims_divide(struct claim **v, size_t n, struct bears whole, msec_t now, struct fair *f);

#endif
