/* lease.h: the one leader among several managers holds a lease in the store, for a few seconds at
 * a time, under an epoch that only grows. Pure: time arrives with each
 * event, what is to be asked of the store goes out as acts.
 *
 *            GRANTED             renew late, or lost
 *   STANDBY --------> LEADING ------------------------> STANDBY
 *      |  ^              |  ^
 *      take every        renew every third of the lease
 *      third, or when the other's lease ends
 *
 * Safety: the lease in the store begins when the store handles the request, which is
 * after it was sent. We count from when it was sent, on our own clock, and stop an eighth
 * earlier: no two clocks that differ by less than a tenth can make two leaders of one
 * lease. So lease_leads() must be asked with the present time before every order. A
 * process that was stopped finds its time gone by; what it sent before, and what is still
 * under way, carries its epoch and is refused by those who have seen a higher one.
 *
 * A request that was given up (timed out, link broken) may still be granted. Its answer
 * has an old serial and is ignored; the next take of the same owner succeeds. */
#ifndef SEGQ_LEASE_H
#define SEGQ_LEASE_H

#include "common/base/base.h"
#include "common/base/rng.h"

enum lease_state { LEASE_STANDBY, LEASE_LEADING };

enum lease_kind {
    LEASE_TICK,      /* time has passed */
    LEASE_GRANTED,   /* answer to a take: epoch */
    LEASE_RENEWED,   /* answer to a renewal */
    LEASE_HELD,      /* answer to either: somebody else's, for left_ms more */
    LEASE_FAILED,    /* no answer to either, or one that is no use */
    LEASE_FENCED, /* nodes obey `epoch`, or another manager under it: go above */
    LEASE_UNUSABLE,     /* this term cannot go on, through no other manager's doing */
    LEASE_RESIGN,    /* we are about to stop */
};
struct lease_in {
    enum lease_kind kind;
    msec_t now_ms;
    uint64_t serial; /* number of the request that is answered */
    uint64_t epoch;  /* GRANTED, HELD (the highest given so far), OUTRANKED */
    msec_t left_ms;  /* HELD */
};

enum lease_do {
    LEASE_TAKE,      /* ask for it: serial, an epoch above `epoch` */
    LEASE_RENEW,     /* ask for more time: serial */
    LEASE_FREE,      /* give it back; no answer is waited for */
    LEASE_LEAD,      /* a term begins, under `epoch` */
    LEASE_STEP_DOWN, /* the term is over; why */
};
struct lease_act {
    enum lease_do what;
    uint64_t serial, epoch;
    const char *why; /* static */
};
#define LEASE_ACTS 3
struct lease_out {
    struct lease_act act[LEASE_ACTS];
    unsigned n;
    msec_t wake_ms; /* LEASE_TICK by then */
};

struct lease {
    uint32_t ttl_ms;
    struct rng rng;
    enum lease_state state;
    uint64_t epoch, floor;
    uint64_t serial; /* number of the last request */
    bool asking;     /* not answered yet */
    bool resigned;
    msec_t sent_ms;       /* when it was sent */
    msec_t next_ms;       /* moment of the next request */
    msec_t safe_until_ms; /* LEADING */
    msec_t renewed_ms;    /* when the lease we hold was last asked for */
    msec_t term_ms;       /* when this term began */
    msec_t patience_ms;   /* after being fenced; doubles */
};

void lease_init(struct lease *l, uint32_t ttl_ms, uint64_t seed, msec_t now_ms);
void lease_step(struct lease *l, const struct lease_in *in, struct lease_out *out);
/* May an order leave at this very moment? */
bool lease_leads(const struct lease *l, msec_t now_ms);

#endif
