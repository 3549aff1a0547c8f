/* request_headers.h: fields of a request that take more than a look: cookies (RFC 6265), and the client that a
 * proxy asks for. Pure.
 *
 * A browser sends one Cookie line, HTTP/2 many, and what stands between them and us may hand
 * them on as they came: all lines are read, in their order. One name may be there more than
 * once (a cookie of another path or domain): which one is good only its reader can say. */
#ifndef SEGQ_COMMON_HTTP_REQUEST_HEADERS_H
#define SEGQ_COMMON_HTTP_REQUEST_HEADERS_H

#include "common/base/ip.h"
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

/* ---- proxies: the client that they ask for, as X-Forwarded-For or Forwarded say it ----
 *
 * Proxies append: the rightmost address was written by the one that is connected to us, the one
 * before it by the proxy that was connected to that one, and so on. So we read from the right, past
 * our own proxies, to the first address that is not one of them: what stands further left was told
 * by that client and is worth nothing. */

#define FORWARDED_MAX 16 /* addresses that are looked at, from the right */

enum forwarded_form {
    FORWARDED_X,       /* X-Forwarded-For: a, b, c */
    FORWARDED_RFC_7239 /* Forwarded: for=a;proto=http, for="[b]:1" */
};

/* lines: the field's lines in their order. 1: *out is the client; 0: there is none to be
 * had (no line, or only proxies); SQ_EINVAL: malformed before a client was found. */
SQ_CHECK int forwarded_client(struct ip *out, enum forwarded_form form,
                              const struct slice *lines, size_t n_lines,
                              const struct ip_net *proxies, size_t n_proxies);

#endif
