/* challenge.h: joins that cost some work while there is a flood of them, or that a service of the
 * operator's lets in (challenge.verify_url of a queue) in place of work. Shell around
 * router/gate/door.h: the request, its address, the router's keys and clocks.
 *
 *   428 challenge_required  and the challenge in the body; the join comes again with its answer, as
 *       header `segq-challenge` or as member `altcha`
 *   403 challenge_...       another answer than the one that was asked for
 *   428 challenge_required  `verify` true: the join comes again with the service's token, as header
 *       `segq-verify`
 *   403 challenge_unverified  the service says no
 *   403 challenge_used        the token has let another person in
 *   429 suspect_network     the queue rejects suspects (router/gate/suspects.h), and its network is one
 *
 * One challenge is one place: it is bound to the subject or Idempotency-Key of the join that asked;
 * a join with neither gets one made of the challenge. So whoever sends an answer again, to whatever
 * router, finds the place of the first time.
 *
 * A join is held while the service is asked. A token is good once: whoever sends it again, for the
 * same subject, finds the place of the first time, at this router without another question. If the
 * service cannot be asked, verify_fallback of the queue says what follows: let in, work, or 503. On the
 * waiting page the widget's token comes with the form `join`; the same holds, and the page says it. */
#ifndef SEGQ_ROUTER_CALLS_CHALLENGE_H
#define SEGQ_ROUTER_CALLS_CHALLENGE_H

#include "router/api/request.h"
#include "router/links/flows.h"
#include "router/state/router.h"

/* ---- the site's check ---------------------------------------------------------------- */

struct site_work { /* challenge, should the fallback be work */
    struct door_ask ask;
    struct challenge_terms terms; /* texts: of the map at hand */
    unsigned level;
};

#define SITE_AGAIN_MS 10000 /* SITE_NO_SERVICE: told to come then */

enum site_no { SITE_NO_TOKEN, SITE_NO_PERSON, SITE_NO_MORE_USES, SITE_NO_ROOM, SITE_NO_SERVICE, SITE_NO_QUEUE,
               SITE_WORK /* a challenge in its place */ };

struct join_then { /* continuation of a join: it may go in, or not */
    void (*go)(struct router *r, struct httpd_req *req, const struct route_queue *q, struct join_body *b,
               const struct join_then *then);
    unsigned lane;
    rflow_done end;
    /* NULL: a call of the API, which is answered by a problem. q: NULL if there is none. */
    void (*refuse)(struct router *r, struct httpd_req *req, const struct route_queue *q, enum site_no why,
                   const struct site_work *w, const struct join_then *then);
    void *page; /* owned once it is held (malloc); go takes it over; NULL: the API */
};

struct site_held; /* a join whose service is asked */

/* For a join of a queue with verify_url that needs a challenge. b: with the name of its Idempotency-Key. said:
 * the token; p NULL: none came. True: it may go in now, and has a name in b; false: it has been answered, or
 * (*held) is held, and then->page with it. */
SQ_CHECK bool site_check(struct router *r, struct httpd_req *req, const struct http_req *q,
                         const struct route_queue *queue, struct join_body *b, struct slice said,
                         const struct site_work *w, const struct join_then *then, bool *held);
/* The client of a held join has gone. */
void site_held_gone(struct site_held *h);

/* ---- the work ------------------------------------------------------------------------ */

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
