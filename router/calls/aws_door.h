/* aws_door.h: the public API of AWS' Virtual Waiting Room, for sites that move: a ticket of the default
 * lane of an event's queue (cfg.aws_events), in the words of that API. Shell. PROTOCOL.md, section 31.
 *
 *   POST /assign_queue_num {event_id}              a join; the ticket's token is its request id
 *   GET /queue_num?event_id=&request_id=           its number; a poll
 *   GET /serving_num?event_id=                     number up to which people are let in; from memory
 *   GET /waiting_num?event_id=                     how many wait; from memory
 *   POST /generate_token {event_id, request_id}    its pass, once it is let in; a poll
 *   GET /queue_pos_expiry?event_id=&request_id=    seconds that the pass is good; a poll
 *   GET /public_key?event_id=                      key that signs passes */
#ifndef SEGQ_ROUTER_AWS_DOOR_H
#define SEGQ_ROUTER_AWS_DOOR_H

#include "router/api/request.h"
#include "router/state/router.h"

/* Makes of a call that is none here (there are no events, or its method is another one) what it is. */
void aws_route(const struct router *r, const struct http_req *q, struct api_req *a);
/* Answers, or begins a flow that will. a->call: of these, after aws_route(). */
void aws_start(struct router *r, struct httpd_req *req, const struct http_req *q, const struct api_req *a);

#endif
