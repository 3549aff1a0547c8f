/* cors.h: pages of other origins that may use the API from a browser (Fetch standard,
 * section "CORS protocol"). For games on the web whose page is served by somebody else;
 * a page behind the same name as the routers needs none of it.
 *
 * Only what needs no cookie is opened: tickets, queues and tasks, with the token in the path, or a
 * claim in the body.
 * Never "credentials": the cookies of the waiting page stay its own site's. Nothing is
 * allocated per request, and without `allow_origins` nothing is even looked for. */
#ifndef SEGQ_CORS_H
#define SEGQ_CORS_H

#include "common/base/err.h"
#include "common/http/http.h"
#include "router/api/request.h"

struct cors; /* owned */

/* "https://game.example", "http://127.0.0.1:8000", or "*" for any. */
bool cors_is_origin(const char *s);

/* origins: such ones. *out is NULL if there are none. 0 or SQ_ENOMEM. */
SQ_CHECK int cors_new(struct cors **out, char *const *origins, size_t n, struct err *e);
void cors_free(struct cors *c);

/* The lines that an answer to this request needs; NULL: none. Live as long as c. c may be
 * NULL. */
const char *cors_lines(const struct cors *c, const struct http_req *q,
                       const struct api_req *a);
/* A preflight: one that has lines is answered 204 with them, and no more. */
bool cors_preflight(const struct http_req *q, const struct api_req *a);

#endif
