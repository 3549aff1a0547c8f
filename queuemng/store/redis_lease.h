/* redis_lease.h: asking Redis for the lease of leading: take, renew, give back. */
#ifndef SEGQ_REDIS_LEASE_H
#define SEGQ_REDIS_LEASE_H

#include "common/base/base.h"

struct redis_store;

enum redis_lease_answer { REDIS_GRANTED, REDIS_RENEWED, REDIS_HELD, REDIS_NO_ANSWER };
struct redis_lease {
    enum redis_lease_answer is;
    uint64_t serial; /* number of the question */
    uint64_t epoch;
    uint64_t rev;
    msec_t left_ms;     /* HELD */
    const char *holder; /* HELD: "name rpc-address admin-address"; "" = nobody */
};

/* SQ_EUNAVAIL: no link; else redis_store_calls.on_lease follows. */
SQ_CHECK int redis_store_take(struct redis_store *s, uint64_t serial, uint64_t above);
SQ_CHECK int redis_store_renew(struct redis_store *s, uint64_t serial, uint64_t epoch);
void redis_store_free_lease(struct redis_store *s);

#endif
