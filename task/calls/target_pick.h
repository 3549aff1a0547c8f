/* target_pick.h: which of an endpoint's targets gets the next call, or that of a key. Pure.
 *
 * Of those that let one begin each has a score, by its slots and its weight:
 *
 *   weight * free / (running + 1)
 *
 * and calls are spread as the scores are to each other (the smooth weighted round robin of nginx,
 * src/http/ngx_http_upstream_round_robin.c). So one that answers slowly gets few, all fill up to their last
 * slot, and idle ones share by weight; where slots are as good as endless it is Envoy's weighted least
 * request (weight / (active + 1)). A target that has just let no connection be made is aside: it gets a call
 * only if no other can (as by nginx's max_fails and fail_timeout, for a second). */
#ifndef SEGQ_CALLS_TARGET_PICK_H
#define SEGQ_CALLS_TARGET_PICK_H

#include "common/base/base.h"

struct endpoint;

struct target_room {
    uint64_t free;    /* slots; 0: no call may begin, for whatever reason */
    uint64_t running;
    uint32_t weight;
    bool aside;
    int64_t credit;   /* sum of its scores, less what calls have cost; 0 at first */
};

#define TARGET_NONE SIZE_MAX

/* Gives it a call: credits change. TARGET_NONE: none may. */
size_t target_pick(struct target_room *v, size_t n);

/* Returns what the calls of a task with these keys ("": none) have affinity by; 0: nothing. */
uint64_t endpoint_affinity(const struct endpoint *ep, const char *key1, const char *key2);
/* Where the call goes that begins now: itself, or one of its targets; NULL: to none of them. affinity: as
 * above. */
struct endpoint *endpoint_target(struct endpoint *ep, uint64_t affinity, uint64_t cost, msec_t now);

/* Which of an endpoint's targets gets the calls of a key, so that what a target keeps of a key's
 * earlier calls (prompts of a language model, say) is used again.
 *
 * Each key has an order of all targets, by what both are called alone, so each task node finds the same one
 * without asking: the highest of -weight / ln(hash(key, url) in 0..1) is first. That is rendezvous hashing
 * (Thaler, Ravishankar: Using Name-Based Mappings to Increase Hit Rates, 1998), with weights (Schindelhauer,
 * Schomaker: Weighted Distributed Hash Tables, 2005). A target that goes, dies or drains drops out: its keys
 * go to the next of their orders, those of others stay.
 *
 * A call goes to the first of the order that has a slot free and is within its bound: with it, no more than
 * `bound` times its part, by weight, of the calls under way at those that have a slot free, rounded up. What
 * is beyond overflows to the next (Mirrokni, Thorup, Zadimoghaddam: Consistent Hashing with Bounded Loads,
 * 2016). As bound >= 1, one is always within it. Nothing waits for the first choice. Calls under way are those
 * of this node, and so are slots: where a node has no slot of a target, the next one gets its calls, until the
 * manager has given it some. */

#define AFFINITY_PERCENT 100 /* a bound of 1 */

/* Hashes n bytes, the same on every machine; never 0. */
static inline uint64_t affinity_hash(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325; /* FNV-1a; mix() spreads its bits */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)p[i]) * 0x100000001b3;
    return h != 0 ? h : 1;
}

struct affine {
    uint64_t url; /* hash of it, and of its address, if it is one of several of its name */
    bool there;   /* well, and not drained: it may be a first choice although it has no slot free */
};

struct affine_choice {
    size_t at;    /* TARGET_NONE: none has a slot free */
    size_t first; /* first choice of those that are there; TARGET_NONE: none is */
};

/* Picks a target for the next call of this key, from v[i], at[i]. bound: percent, at least 100. */
struct affine_choice affinity_pick(const struct target_room *v, const struct affine *at, size_t n,
                                   uint64_t key, uint32_t bound);

#endif
