/* http_body.h: chunked bodies, for http.c. Pure. */
#ifndef SEGQ_HTTP_BODY_H
#define SEGQ_HTTP_BODY_H

#include "common/http/http.h"

/* The body, once the head is complete: > 0 bytes of the whole request, else as
 * http_parse. */
int64_t http_chunked(struct http_state *st, struct http_req *r, char *buf, size_t n);

#endif
