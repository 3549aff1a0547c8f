/* input.h: what a browser sends with a page's request: query, form, cookies, languages,
 * and where it wants to go afterwards. Pure. Nothing of it is believed. */
#ifndef SEGQ_ROUTER_PAGE_IN_H
#define SEGQ_ROUTER_PAGE_IN_H

#include "common/http/http.h"

#define PAGE_TARGET_MAX 2048

/* The member `name` of "a=b&c=d" (a query, or application/x-www-form-urlencoded), decoded
 * into out with a final 0. Its length; -1: not there, there twice, a bad escape, an encoded
 * NUL, or no room. */
int64_t page_member(struct slice form, const char *name, char *out, size_t cap);

/* Where to go afterwards, out of a query. nginx cannot escape what it puts into a redirect
 * (`?return=$request_uri`): a value that begins with a bare slash, or has a bare "://", is
 * taken as it stands, with all that follows it. Length, or -1. */
int64_t page_return(struct slice query, char *out, size_t cap);

/* Our own member of a query: like page_member(), but not out of what a bare return takes with
 * it. */
int64_t page_own(struct slice query, const char *name, char *out, size_t cap);

/* Which of the tags ("en", "zh-Hant") an Accept-Language header likes best; `other` if it says
 * nothing about any of them. A region finds its language (de-AT: de), and its script (zh-TW:
 * zh-Hant); of several that are liked as much the first one counts. */
size_t page_language(struct slice accept, const char *const *tags, size_t n, size_t other);
/* The tag for one such range; n: none. */
size_t page_language_named(struct slice range, const char *const *tags, size_t n);

/* Reads Accept-Encoding: may the answer be gzip? */
bool page_takes_gzip(struct slice accept);

/* May people be sent to `to`? A path of this site, or a place on one of the origins (each
 * page_origin_ok()). What browsers could read as another place is refused. */
bool page_target_ok(const char *to, size_t n, char *const *origins, size_t n_origins);
/* Writes the form for a Location header: bytes that no URL has are escaped. */
void page_put_target(struct buf *b, const char *to, size_t n);
/* The "https://host" part of an absolute target; 0 for a path. */
size_t page_target_origin(const char *to);

/* May this request change something for the one who sends it? With Sec-Fetch-Site its word
 * counts, else Origin against Host. 1: yes; 0: the browser does not say, so only what a
 * SameSite cookie proves may be done; -1: another site sent it. */
int page_same_site(const struct http_req *q);

#endif
