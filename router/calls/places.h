/* places.h: one person in several queues at once, who takes the first turn (flow/places.h). Only with
 * join_groups, or groups, of the configuration. Shell.
 *
 *   POST /v1/places            joins all queues of its body, or none
 *   GET /v1/places/{group}     all places; the pass of the first turn, and no other's
 *   DELETE /v1/places/{group}  leaves all
 *
 * The group is in its name: the places, encrypted under the cluster's token key. So nobody polls one
 * of them alone, and no process keeps anything of it. */
#ifndef SEGQ_ROUTER_PLACES_H
#define SEGQ_ROUTER_PLACES_H

#include "router/api/request.h"
#include "router/calls/places_call.h"

/* Answers, or begins flows that will. group: n 0: a join. */
void places_start(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice group);
/* The group of that name in the configuration; NULL: none. */
const struct cfg_group *places_group(const struct router *r, struct slice name);
/* When c shall poll again, in ms. Its places are to be polled as the group is told, not as each of them
 * would be alone. */
uint32_t places_told(struct places_call *c);

#endif
