/* claims.h: how many of those who are let in really come: the claim rate. Pure.
 *
 * A released ticket is claimed (its pass is collected) or missed (its claim window ran out).
 * The rate follows the last CLAIMS_MEMORY decided ones, so that it moves with evidence and not
 * with time: a quiet night does not forget. A miss is known one claim window later than a
 * claim: in the first window of a rush the rate is taken for too high, which lets in too
 * few and never too many.
 *
 * By rate, so many more are released that about the rate comes, at most no_show_boost times
 * as many. By slots nothing of it is needed: a slot is given back when the window is over. */
#ifndef SEGQ_CLAIMS_H
#define SEGQ_CLAIMS_H

#include "common/base/base.h"

#define CLAIMS_MEMORY 200 /* decided tickets that the rate is made of */
#define CLAIMS_FEW    50  /* with less evidence it is not acted on */

struct claims { /* of one queue; zero = new */
    uint64_t claimed, missed; /* ever, in this manager's time */
    uint64_t seen_claimed, seen_missed; /* of them, what the rate knows */
    double rate;              /* 0..1; of nobody: 0 */
};

/* What came since the last call goes into the rate; once a second. */
void claims_look(struct claims *c);
/* The rate; 1 as long as there is too little evidence. */
double claims_rate(const struct claims *c);
/* How many times as many to release; 1 .. most. */
double claims_boost(const struct claims *c, double most);

#endif
