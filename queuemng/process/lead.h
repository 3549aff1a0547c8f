/* lead.h: does this manager lead? The shell around lease.h, over redis_store.h.
 *
 *   GRANTED --> is our copy what Redis has? --no--> load (or write it back) --> on_lead
 *                                  '------yes-----------------------------------^
 *   lease lost, write refused, write stuck for a whole lease, fenced --> on_stop
 *
 * A Redis that has just been started is not asked for the lease before a whole lease has
 * passed: it may have forgotten one that somebody still holds.
 * The lease's clock is CLOCK_BOOTTIME: it also runs while the machine sleeps. */
#ifndef SEGQ_QUEUEMNG_PROCESS_LEAD_H
#define SEGQ_QUEUEMNG_PROCESS_LEAD_H

#include "queuemng/policy/lease.h"
#include "queuemng/process/config.h"
#include "queuemng/store/redis_store.h"

struct mng_lead;
struct mng_lead_calls { /* from the loop, never from inside a call of ours */
    void (*on_lead)(void *ctx, uint64_t epoch); /* a term begins: the store is loaded */
    void (*on_stop)(void *ctx, const char *why);
    void (*on_stored)(void *ctx);   /* store_done() has grown */
    void (*on_leader)(void *ctx); /* somebody else leads, or another one than before */
};

/* addr, admin: what peers and operators are told of us. */
SQ_CHECK int mng_lead_new(struct mng_lead **out, struct ev *ev, const struct mng_cfg *cfg,
                          const char *addr, const char *admin,
                          const struct mng_lead_calls *calls, void *ctx, struct err *e);
/* Reads certificates for the way to Redis anew; the link that is there goes on. Refused: as before. */
SQ_CHECK int mng_lead_reload(struct mng_lead *l, const struct mng_cfg *cfg, struct err *e);
/* We are about to stop: on_stop follows if we lead, and the lease is given back, so that
 * a standby need not wait for its end. It leaves in one of the next turns. */
void mng_lead_resign(struct mng_lead *l);
void mng_lead_free(struct mng_lead *l);           /* calls nobody; NULL is fine */
struct store *mng_lead_store(struct mng_lead *l); /* ref */

/* May an order leave at this very moment? Reads the clock. */
bool mng_lead_may_order(const struct mng_lead *l);
/* Nodes obey this epoch, or another manager under it. */
void mng_lead_fenced(struct mng_lead *l, uint64_t epoch);
/* This term cannot go on, for a reason of the caller's; on_stop follows. */
void mng_lead_give_up(struct mng_lead *l);

struct mng_lead_view {
    bool leads, reachable; /* Redis is */
    bool alone;            /* and takes writes that none of its replicas gets */
    uint64_t epoch;        /* epoch of the last term */
    msec_t lease_age_ms;   /* since it was last asked for with success; -1 = never */
    const char *redis;     /* address of it */
    const char *leader, *leader_addr, *leader_admin; /* the leader; "" = not known */
    uint64_t terms, renewals, failures;
    const struct redis_counts *faults;
    const struct histo *latency;
};
void mng_lead_look(const struct mng_lead *l, struct mng_lead_view *v);

#endif
