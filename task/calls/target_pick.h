/* target_pick.h: which of an endpoint's targets gets the next call. Pure.
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

#endif
