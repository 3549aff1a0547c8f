/* endpoint.h: an endpoint that a node calls, or one of its targets: definition, state, rate and ramp. Pure.
 * Levels outlive a restart (below). Which calls it lets begin: endpoint_lets.h. */
#ifndef SEGQ_CALLS_ENDPOINT_H
#define SEGQ_CALLS_ENDPOINT_H

#include "common/base/err.h"
#include "common/base/list.h"
#include "common/task/call.h"
#include "task/calls/quota.h"
#include "task/calls/throttle.h"
#include "task/calls/told.h"
#include "task/calls/verdict.h"
#include "task/containers/rate.h"
#include "task/store/record.h"

struct endpoint_counts { /* ever */
    uint64_t sent, succeeded, failed, ms; /* failed: the target was not well */
    uint64_t cut; /* their tasks were cancelled by force */
    uint64_t affine, astray; /* a target: calls that affinity wanted there: that went there; elsewhere */
    uint64_t units; /* cost of calls that began */
    uint64_t of_class[CALL_NCLASSES], of_fault[CALL_NFAULTS];
};

struct endpoint { /* or one of its targets */
    struct list_node in; /* list of all */
    struct list targets; /* struct endpoint.in_of */
    struct endpoint *of; /* a target of this endpoint; NULL: an endpoint */
    struct list_node in_of;
    msec_t aside;        /* a target: others go first until then */
    int64_t credit;      /* a target: endpoint_lets.h */
    uint64_t url_hash;   /* a target: endpoint_lets.h */
    uint64_t lacked;     /* calls that wanted a slot, or a rate, of this node, and found none, */
    msec_t lacked_at;    /* within a second from then on */
    char name[TASK_NAME_MAX + 1];
    struct msg_endpoint def; /* texts owned; serial 0: gone, or not told yet */
    int64_t tat;      /* time of its rate (rate_now()) */
    struct quota quota;
    struct told_quotas told; /* by its answers; of a target: its own */
    msec_t held;      /* until then by Retry-After; 0: not */
    msec_t ramp;      /* since then it rises; MSEC_NEVER: it is all there */
    struct breaker breaker;
    struct hand_probe hand;
    uint64_t resets; /* resets of the definition, as obeyed last */
    struct budget budget;
    struct adaptive adaptive;
    struct pressure pressure;
    uint8_t reading; /* enum reading_state, as reported last */
    uint32_t in_flight; /* calls of ours */
    uint64_t left;      /* attempts of partitions that have left, whose end nobody here hears */
    msec_t left_until;  /* the last of their leases */
    struct endpoint_counts n;
    /* In the taker's turn: */
    uint64_t running; /* tasks of its pools */
    uint64_t waiting; /* such that nothing else holds up */
    uint32_t next;    /* partition to be asked first */
    bool wanted;      /* a task that could go is there */
    bool said_wanted; /* and was, by the last report, */
    uint64_t said_running; /* with so many under way */
    /* For the sender: */
    void *target;           /* made for target_serial; */
    uint64_t target_serial;
    msec_t again;           /* not usable: then it is tried again, since files may have come */
    bool usable;            /* false: it could not be made, or not yet */
    char unusable[ENDPOINT_WHY_MAX + 1]; /* why it could not; "" */
};

/* Takes a definition, into the list of all. 0; SQ_EINVAL: it is none that can be called; SQ_ENOMEM. The same
 * serial again: nothing. */
SQ_CHECK int endpoints_define(struct list *all, const struct msg_endpoint *m, msec_t now);
/* No call begins any more; those that go on end. */
void endpoints_drop(struct list *all, const char *name);
/* True: dropped, without a target, and no call of it is on its way. */
bool endpoint_is_over(const struct endpoint *ep);
/* Frees it. It must be over, and nobody may have it. */
void endpoints_forget(struct list *all, struct endpoint *ep);
struct endpoint *endpoints_find(const struct list *all, const char *name); /* NULL */

/* Rate of its definition; stretched on the ramp. */
struct rate endpoint_rate(const struct endpoint *ep);
struct rate endpoint_rate_now(const struct endpoint *ep, msec_t now);
/* Part of 1 of its rate and slots that the ramp allows. */
double endpoint_ramp(const struct endpoint *ep, msec_t now);

/* Tasks that hold slots beside our calls: their target said `pending`, their task was cancelled by
 * force, or nobody knows how they ended (a restart, a move). */
static inline uint64_t endpoint_held(const struct endpoint *ep)
{
    return ep->running > ep->in_flight ? ep->running - ep->in_flight : 0;
}

#define each_endpoint(all, ep) list_each_of(all, struct endpoint, in, ep)
#define each_target_of(ep, x)  list_each_of(&(ep)->targets, struct endpoint, in_of, x)

/* Levels: what rates in units of endpoints have left at a node, over a restart.
 *
 * A turn in which a bucket changed writes its level down (QUOTA), in the same group as the records of the
 * calls that took it; so it is exact to a unit, and nothing else of the journal is reckoned. A node that is
 * started anew goes on from there with what came in meanwhile, by its part of then, if the manager says that
 * it has kept that part for it (unit_kept of ENDPOINT): else others may have had it, and buckets are empty.
 * So they are with a shared store, which has nothing of the node itself. */

/* Puts the records of all levels, or of those that have changed since this was asked; clock: a record with
 * the moment (CLOCK has the same members). read: those that levels_read() has, and no manager has told yet. */
typedef void (*level_put)(void *ctx, const struct trec *r);
void levels_changed(struct list *endpoints, const struct trec *clock, msec_t now, level_put put, void *ctx);
void levels_all(const struct list *endpoints, const struct list *read, const struct trec *clock, msec_t now,
                level_put put, void *ctx);
/* Applies a record. 0, SQ_EPROTO, SQ_ENOMEM. */
SQ_CHECK int levels_read(struct list *read, const struct trec *r);
/* The one of this endpoint; NULL: there is none. */
const struct trec *levels_find(const struct list *read, const char *name);
/* Goes on from a level that is so old; where unit_kept of m is too little, it counts for nothing. */
void levels_resume(struct endpoint *ep, const struct trec *r, const struct msg_endpoint *m, msec_t away, msec_t now);
/* Follows what the manager says of calendar windows; is_new: of what it gave before, that is left which the record
 * of before (or NULL) says. ahead: as in quota_windows. */
void levels_follow(struct endpoint *ep, bool is_new, const struct trec *r, const struct msg_endpoint *m, msec_t ahead,
                   msec_t now);
void levels_forget(struct list *read, const struct trec *r);
void levels_forget_all(struct list *read);

#endif
