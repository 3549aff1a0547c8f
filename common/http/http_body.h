/* http_body.h: chunked bodies: of requests, for http.c; and their lines, for http_answer.c. Pure. */
#ifndef SEGQ_HTTP_BODY_H
#define SEGQ_HTTP_BODY_H

#include "common/http/http_scan.h"

/* The body, once the head is complete: > 0 bytes of the whole request, else as
 * http_parse. */
int64_t http_chunked(struct http_state *st, struct http_req *r, char *buf, size_t n);
/* The line in front of a chunk, with its end; more than `max` bytes: 413. 1, 0, -status: as
 * http_scan.h says. */
int http_chunk_line(struct http_cur *c, size_t max, size_t *size);
/* Field lines after the last chunk, and the empty line: checked, counted, dropped. */
int http_trailers(struct http_cur *c);

#endif
