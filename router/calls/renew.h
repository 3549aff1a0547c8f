/* renew.h: passes that are renewed while they are verified, so that no active visitor
 * is thrown out. Shell: a flow to the ticket's node, seldom; PROTOCOL.md section 20.
 *
 *   verify: good, a third of its idle time is gone --> flow_renew() --> node: EXTEND
 *   204, and the renewed pass <-- its answer, or FLOW_RENEW_MS
 *
 * A renewal that fails turns nobody away: the pass is good until it expires, and the next
 * request after RENEW_PAUSE_MS tries again. */
#ifndef SEGQ_RENEW_H
#define SEGQ_RENEW_H

#include "router/state/router.h"

#define RENEW_PAUSE_MS 1000 /* time between two tries for a pass; requests in it do not wait */

struct renewal {      /* owned by its rflow */
    struct known_pass x; /* a copy: the table may forget it */
    int64_t most_s;   /* latest end of its session */
    uint32_t idle_s;
    bool bearer;      /* came as a bearer's, else in the cookie */
    bool https;
};

/* The end (Unix seconds) to which the session of a pass that is shown at now_s is extended; 0: it
 * is not, since the pass lives for two thirds of idle_s, or has all that max_s after its
 * release allows. Pure. */
static inline int64_t renew_until_s(int64_t nbf_s, int64_t exp_s, uint32_t idle_s,
                                    uint32_t max_s, int64_t now_s)
{
    int64_t most = nbf_s + max_s;
    int64_t until = now_s + idle_s < most ? now_s + idle_s : most;

    if (idle_s == 0 || (exp_s - now_s) * 3 >= (int64_t)idle_s * 2 || until <= exp_s)
        return 0;
    return until;
}

/* x is good; q: its queue. True: it is being renewed, and answered then. */
bool renew_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct route_queue *of, const struct known_pass *x);

#endif
