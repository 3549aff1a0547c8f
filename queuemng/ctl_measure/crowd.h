/* crowd.h: requests to a router, one after the other on each of some connections, for so long or so
 * many: joins, which bring tokens, and polls of them. Shell.
 *
 * A closed loop: who is answered asks again, so the router is as busy as it can be beside us. Any
 * answer but 2xx ends it: what was measured then would be something else. */
#ifndef SEGQ_CTL_MEASURE_CROWD_H
#define SEGQ_CTL_MEASURE_CROWD_H

#include "common/base/err.h"

#define CROWD_TOKEN 64 /* bytes, its end included */

struct crowd {
    uint16_t port;                /* the router's, on 127.0.0.1 */
    char (*token)[CROWD_TOKEN];   /* owned */
    uint32_t n, cap;
    uint64_t at;                  /* the last poll, as a number without end */
};

struct crowd_turn {
    const char *join;     /* the queue; NULL: polls */
    bool each;            /* polls: tokens from `first` on, each once; else all, over and over */
    uint32_t first;
    bool anew;            /* with a connection of its own for each request */
    uint32_t most;        /* requests */
    double seconds;
    uint32_t answers, admitted; /* out */
};

/* SQ_EUNAVAIL: the router does not answer, or not as it should; SQ_ECLOSED: *stop was set. */
SQ_CHECK int crowd_turn(struct crowd *c, struct crowd_turn *t, const volatile int *stop, struct err *e);
void crowd_fini(struct crowd *c);
double crowd_now_s(void); /* monotonic */

#endif
