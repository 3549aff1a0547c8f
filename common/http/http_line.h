/* http_line.h: the request line, for http.c. Pure. */
#ifndef SEGQ_HTTP_LINE_H
#define SEGQ_HTTP_LINE_H

#include "common/http/http_scan.h"

/* Method, path, query, minor version, and the host of an absolute target, up to the line's
 * end. 1, 0, -status: as http_scan.h says. */
int http_request_line(struct http_cur *c, struct http_req *r);
/* uri-host [ ":" port ]; may be empty (RFC 9112 3.2). */
bool http_host_good(struct slice h);

#endif
