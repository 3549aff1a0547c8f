/* endpoint_lets.h: which calls an endpoint lets begin now, when more of them, what they pay, and which of its
 * targets they go to. Pure.
 *
 * An endpoint lets a call begin while all of these do:
 *   the operator      it is not paused, nor tripped, and its definition is here, and can be used
 *   its rate          GCRA (rate.h), of this node's share; from an empty bucket
 *   its units         quota.h: the next call costs no more than is there; also of its target
 *   its answers       what they say is left (told.h); also of its target
 *   its slots         tasks of its pools that run, also those of which nobody knows whether the
 *                     target still has them (a restart, a move), and calls whose partition has
 *                     left: less than this node's share; a thousand if there is no bound; and less
 *                     than the adaptive limit allows (throttle.h), if it is on
 *   the target        Retry-After of a 429 or 503 is over
 *   its breaker       throttle.h
 *   its readings      what its page of metrics says closes it, or leaves fewer slots (throttle.h)
 *   its ramp          behind a start, a pause and an open breaker a tenth of rate and slots, and
 *                     half as much again each second, until it is all
 *
 * Where it has several targets (ENDPOINT.targets), each is a struct endpoint of its own, "gen#3", with
 * slots, Retry-After, breaker, adaptive limit, readings and ramp; rate, pause, a bound of all slots, and the
 * budget of retries are the endpoint's. Which one a call goes to, also that of a key: below.
 * A call for which no connection could be made goes to another one at once, if one lets it.
 *
 * A probe by hand goes beyond the last three of them. Retries have a budget (throttle.h). Times are
 * on the node's axis. */
#ifndef SEGQ_CALLS_ENDPOINT_LETS_H
#define SEGQ_CALLS_ENDPOINT_LETS_H

#include "common/base/base.h"
#include "common/task/call.h"
#include "task/calls/endpoint.h"

/* running: tasks of its pools that run now. */
bool endpoint_lets(struct endpoint *ep, uint64_t running, msec_t now);
/* Units that its own rates, and what its answers say is left, let a call have; QUOTA_ANY. */
uint64_t endpoint_room(const struct endpoint *ep, msec_t now);
/* Units that a call may have that begins now, at this target, or at that of its targets which has the most;
 * QUOTA_ANY. */
uint64_t endpoint_affords(const struct endpoint *at, msec_t now);
/* The next one has more: it is waited for. A call of so many begins. It did not begin after all. */
void endpoint_waits(struct endpoint *at, uint64_t cost, msec_t now);
void endpoint_pays(struct endpoint *at, uint64_t cost, msec_t now);
void endpoint_returns(struct endpoint *at, uint64_t cost, msec_t begun, msec_t now);
/* Charges, or gives back, the difference of a call that has paid `was` units and took `truth`. */
void endpoint_settles(struct endpoint *at, uint64_t was, uint64_t truth, msec_t begun, msec_t now);
/* When it may let one pass by itself; MSEC_NEVER: when a call ends, or it is told so. */
msec_t endpoint_when(const struct endpoint *ep, uint64_t running, msec_t now);
/* When the nth task in line may go, as far as the endpoint says: in *ms, -1: not known; and by
 * what: PAUSED, ENDPOINT (it is down), RATE (also Retry-After), CONCURRENCY. */
enum task_eta endpoint_eta(const struct endpoint *ep, uint64_t nth, msec_t now, int64_t *ms);
/* on_quota: reject: so long a call of so many units, the nth in line, would wait for rates, or for a Retry-After;
 * 0: it would not, or is to wait. */
msec_t endpoint_over_quota(struct endpoint *ep, uint64_t nth, uint64_t cost, msec_t now);
/* Is it known that nothing goes until the target is well again, or an operator says so? */
bool endpoint_is_down(const struct endpoint *ep);
/* Would a breaker, its own or that of one of its targets, let a call find out whether that is well? */
bool endpoint_would_try(const struct endpoint *ep, msec_t now);
/* Why it cannot be called as it is defined: all of its targets; "". */
const char *endpoint_unusable(const struct endpoint *ep);

/* A probe by hand is wanted (PROBE_ASKED): may it go? running: as above; waits: a task could
 * start. False: its state says why not. True: the next call that begins is it. */
bool endpoint_probes(struct endpoint *ep, uint64_t running, bool waits, msec_t now);

/* The end of the calendar window in which the nth call from now has no room, of its own, or of each target that
 * is well; 0: it has. whose: its name, or its budget's. */
msec_t endpoint_window(const struct endpoint *ep, uint64_t nth, msec_t now, const char **whose);

/* Calls at once that it lets pass now, as far as the adaptive limit says; 0: it is off. */
uint64_t endpoint_adaptive(const struct endpoint *ep);

/* Calls that affinity wanted at this target, but for its share of slots; of the last second or two. */
uint64_t endpoint_lacked(const struct endpoint *ep, msec_t now);

/* Could more begin with a greater share? Not while it is down, or held, or at what the adaptive
 * limit allows. */
bool endpoint_lacks_share(const struct endpoint *ep, msec_t now);

/* Notes attempts that may be at the target until then, and that no other number counts. */
void endpoint_leaves(struct endpoint *ep, uint64_t attempts, msec_t until);
uint64_t endpoint_left(struct endpoint *ep, msec_t now);

/* Slots, with adaptive limit, readings and ramp. */
uint64_t endpoint_slots_now(const struct endpoint *ep, msec_t now);
bool endpoint_is_adaptive(const struct endpoint *ep);
struct adaptive_rules endpoint_adaptive_rules(const struct endpoint *ep);
/* Is one of its targets well, perhaps with all slots in use? */
bool endpoint_is_well_somewhere(const struct endpoint *ep, msec_t now);
/* May a target begin a call? well: as above, of its endpoint: then one that is aside gets nothing, since a
 * call would come back from it at once. */
bool endpoint_lets_target(struct endpoint *x, bool well, msec_t now);
/* Notes a call that wanted a slot, or a rate, of this node's share here, and found none. */
void endpoint_lacks(struct endpoint *ep, msec_t now);

/* ---- which target a call goes to ----------------------------------------------------- */

/* Which of an endpoint's targets gets the next call, or that of a key.
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

/* ---- affinity ------------------------------------------------------------------------ */

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
