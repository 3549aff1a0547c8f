/* challenge.h: joins that cost some work while there is a flood of them. Shell around
 * router/gate/door.h: the request, its address, the router's keys and clocks.
 *
 *   428 challenge_required  and the challenge in the body; the join comes again with its answer, as
 *       header `segq-challenge` or as member `altcha`
 *   403 challenge_...       another answer than the one that was asked for
 *   429 suspect_network     the queue rejects suspects (router/gate/suspects.h), and its network is one
 *
 * One challenge is one place: it is bound to the subject or Idempotency-Key of the join that asked;
 * a join with neither gets one made of the challenge. So whoever sends an answer again, to whatever
 * router, finds the place of the first time. */
#ifndef SEGQ_ROUTER_CALLS_CHALLENGE_H
#define SEGQ_ROUTER_CALLS_CHALLENGE_H

#include "router/calls/site_check.h"
#include "router/state/router.h"

enum challenge_way { WAY_IN, WAY_ASK, WAY_REFUSED, WAY_TOO_FAST, WAY_SUSPECT, WAY_SITE };
#define SUSPECT_AGAIN_MS 120000 /* WAY_SUSPECT: told to come then; what was counted is over by then */

struct challenge_asked { /* said for a join that may not go in yet */
    bool patient; /* set before: a page asks (door.h); it works, whatever verify_url is, */
    bool checks;  /* unless it has the service's widget */
    enum challenge_state state; /* WAY_REFUSED: why */
    unsigned level;
    uint64_t keys; /* WAY_ASK: tries at most */
    size_t n; /* bytes of the text */
    struct site_work work; /* WAY_SITE: the queue's service is to be asked */
    char text[CHALLENGE_TEXT_MAX];
};

SQ_CHECK int challenge_init(struct router *r);
static inline bool challenge_is_free(const struct route_queue *q)
{
    return (q->map.challenge_mode | q->map.suspects) == 0;
}
/* For a join whose rules are kept, of a queue that is not free. answer: p NULL: none came. b gets a
 * key if it has no name; a name or a key of its own stands there already. */
enum challenge_way challenge_way(struct router *r, struct httpd_req *req, const struct http_req *q,
                                 const struct route_queue *queue, struct join_body *b,
                                 struct slice answer, struct challenge_asked *out);
/* The same for a join over the API; false: it has been answered, or is held, and goes on by `then`. */
SQ_CHECK bool challenge_passes(struct router *r, struct httpd_req *req, const struct http_req *q,
                               const struct route_queue *queue, struct join_body *b,
                               const struct join_then *then);

#endif
