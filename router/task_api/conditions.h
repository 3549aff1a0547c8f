/* conditions.h: what a request asks for beside its path and body: how long it waits (Prefer, RFC
 * 7240), and whether it has the answer already (If-None-Match, RFC 9110). Pure. */
#ifndef SEGQ_TASK_API_CONDITIONS_H
#define SEGQ_TASK_API_CONDITIONS_H

#include "router/api/response.h"

/* Prefer: respond-async */
bool prefers_async(const struct http_req *q);
/* The seconds of "Prefer: wait=N", as ms, at most TASK_WAIT_MAX_MS; unsaid: there is none. */
msec_t wait_preferred(const struct http_req *q, msec_t unsaid);
/* Says that it was waited for: Preference-Applied. Nothing for 0. */
void wait_applied(struct api_ans *a, msec_t wait_ms);

/* The answer gets an ETag, made of its body: all routers say the same. If `known` (the value of
 * If-None-Match) has it, the answer becomes 304. */
void answer_tag(struct api_ans *a, struct slice known);

#endif
