/* endpoint_lets.h: which calls an endpoint lets begin now, when more of them, and what they pay. Pure.
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
 * budget of retries are the endpoint's. target_pick.h says which one a call goes to, target_pick.h that of a key.
 * A call for which no connection could be made goes to another one at once, if one lets it.
 *
 * A probe by hand goes beyond the last three of them. Retries have a budget (throttle.h). Times are
 * on the node's axis. */
#ifndef SEGQ_CALLS_ENDPOINT_LETS_H
#define SEGQ_CALLS_ENDPOINT_LETS_H

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

#endif
