/* visit.h: what kind of request this is: a browser that goes to a page, a form that it
 * sends, or a program (fetch, XHR, an app) that reads the answer itself. Pure.
 *
 * Browsers say it themselves (Sec-Fetch-Mode; not over plain http, nor those of before
 * 2023); else the method and Accept tell. A wrong word harms only the
 * client that says it: the looks of an answer depend on it, never what may be done. */
#ifndef SEGQ_ROUTER_VISIT_H
#define SEGQ_ROUTER_VISIT_H

#include "common/http/http.h"

enum visit {
    VISIT_PAGE, /* may be sent elsewhere */
    VISIT_FORM, /* likewise, but what it carried would be lost */
    VISIT_CALL, /* wants an answer that it can read */
};

/* method: of the request that is asked about, as a gate tells it; n 0: it does not. `whole`:
 * every field of that request is here, so that one without Accept is a program's. */
enum visit visit_of(const struct http_req *q, struct slice method, bool whole);

/* A program reads JSON: Accept names it, and no HTML. */
bool visit_wants_json(const struct http_req *q);

/* A browser says that it goes there now, to show it: neither a preview of a link, nor a
 * crawler, nor what is fetched ahead. */
bool visit_is_looked_at(const struct http_req *q);
/* True: fetched ahead; nobody may ever look at it. */
bool visit_is_ahead(const struct http_req *q);

/* The page that it was sent from: path and query of a Referer of this host (with its port or
 * without); n 0: not known, or elsewhere. */
struct slice visit_from(const struct http_req *q, struct slice host);

#endif
