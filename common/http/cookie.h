/* cookie.h: the cookies of a request (RFC 6265). Pure.
 *
 * A browser sends one Cookie line, HTTP/2 many, and what stands between them and us may hand
 * them on as they came: all lines are read, in their order. One name may be there more than
 * once (a cookie of another path or domain): which one is good only its reader can say. */
#ifndef SEGQ_COOKIE_H
#define SEGQ_COOKIE_H

#include "common/http/admin.h"
#include "common/http/http.h"

struct cookies { /* zero it before the first call */
    unsigned line;      /* index among the lines of http_req */
    struct slice rest;  /* the rest of that line */
    struct slice after; /* the field lines that were not looked at */
};

/* The next value of the cookie `name`, without blanks around it, as long as there is one.
 * Points into the request. */
bool cookie_next(struct cookies *c, const struct http_req *q, const char *name,
                 struct slice *v);

/* %XX undone once, in place of nothing: into out. '+' is a blank if plus. False if it is
 * not well formed, has a control character, or does not fit. */
bool admin_unescape(const char *s, size_t n, bool plus, char *out, size_t cap);

/* An Accept-Encoding header's value. */
bool admin_takes_gzip(const char *value);

#endif
