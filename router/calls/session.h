/* session.h: what happens to a session while it lasts: commands of a backend, renewal by use. Shell.
 *
 * POST /v1/session: a backend's command about the session of the person whose request it has just
 * answered (X-Segq-Command: release, revoke, extend).
 *
 *   the body     {"command": "release"}, or a form's command=revoke: the value of the header as it
 *                came, so that a gate in front need not understand it
 *   the pass (Authorization, or the cookie) names the ticket
 *   release      the holder of the pass may do that
 *   the others   X-Segq-Gate-Secret too, of the file gate_secret_file
 *   extend       to now + SECONDS (none: another pass_ttl), at most session_max after the
 *                release; 204 and X-Segq-Expires; 410 if it was over already
 *
 * Revoked here at once; all other routers hear of it from the segment node, within a tick.
 *
 * A pass is renewed while it is verified, so that no active visitor is thrown out: a flow to the
 * ticket's node, seldom; PROTOCOL.md section 20.
 *
 *   verify: good, a third of its idle time is gone --> flow_renew() --> node: EXTEND
 *   204, and the renewed pass <-- its answer, or FLOW_RENEW_MS
 *
 * A renewal that fails turns nobody away: the pass is good until it expires, and the next
 * request after RENEW_PAUSE_MS tries again. */
#ifndef SEGQ_ROUTER_SESSION_H
#define SEGQ_ROUTER_SESSION_H

#include "common/http/http.h"
#include "common/wire/msg_router_segment.h"
#include "common/submit/json_members.h"
#include "router/state/router.h"

/* Answers, or begins a flow that will. */
void session_start(struct router *r, struct httpd_req *req, const struct http_req *q);

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

#define SESSION_MAX_EXTEND 31536000 /* seconds of one command; more is no number but a mistake */

struct session_cmd {
    enum sess_command command;
    uint32_t seconds; /* EXTEND: 0: not said */
};

/* Reads a request's body, JSON or form, where it lies. False: *e says why. */
SQ_CHECK bool session_body(struct session_cmd *c, struct slice body, struct body_error *e);

#endif
