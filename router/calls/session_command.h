/* session_command.h: POST /v1/session: a backend's command about the session of the person whose
 * request it has just answered (X-Segq-Command: release, revoke, extend). Shell.
 *
 *   the pass (Authorization, or the cookie) names the ticket
 *   release      the holder of the pass may do that
 *   the others   X-Segq-Gate-Secret too, of the file gate_secret_file
 *   extend       to now + SECONDS (none: another pass_ttl), at most session_max after the
 *                release; 204 and X-Segq-Expires; 410 if it was over already
 *
 * Revoked here at once; all other routers hear of it from the segment node, within a tick.
 * A node of an older release does not know the question: 503 until it is upgraded. */
#ifndef SEGQ_ROUTER_SESSION_COMMAND_H
#define SEGQ_ROUTER_SESSION_COMMAND_H

#include "router/state/router.h"

/* Answers, or begins a flow that will. */
void session_start(struct router *r, struct httpd_req *req, const struct http_req *q);

#endif
