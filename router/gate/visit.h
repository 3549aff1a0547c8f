/* visit.h: what kind of request this is: a browser that goes to a page, a form that it sends, a
 * program (fetch, XHR, an app) that reads the answer itself, or a crawler. Pure: name servers are
 * asked by struct crawler_io.
 *
 * Browsers say it themselves (Sec-Fetch-Mode; not over plain http, nor those of before
 * 2023); else the method and Accept tell. A wrong word harms only the
 * client that says it: the looks of an answer depend on it, never what may be done.
 *
 * A crawler is the one that its User-Agent names if its address has a name (PTR) in a domain of the
 * crawler's owner, and that name has the address: what the owners themselves advise. Remembered for
 * an hour. Only who says that it is a crawler is asked about, and at most CRAWLER_ASKS at a time;
 * until then, and where name servers are silent, it is not known. */
#ifndef SEGQ_ROUTER_VISIT_H
#define SEGQ_ROUTER_VISIT_H

#include "common/base/ip.h"
#include "common/base/text.h"
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

/* ---- crawlers ---- */

#define CRAWLER_ADDRS 4096 /* addresses that are remembered */
#define CRAWLER_ASKS  16

struct crawlers;
struct crawler_ask; /* a question */
enum crawler_is { CRAWLER_NO, CRAWLER_YES, CRAWLER_UNKNOWN };

struct crawler_io {
    void *ctx;
    /* Asks for the name of an address: crawler_named() comes later, once. False: it cannot be asked. */
    bool (*name)(void *ctx, const struct ip *ip, struct crawler_ask *a);
    /* Asks for the addresses of a name: crawler_has() comes later, once. */
    bool (*addrs)(void *ctx, const char *name, struct crawler_ask *a);
};

/* NULL: no memory. */
struct crawlers *crawlers_new(const struct crawler_io *io);
void crawlers_free(struct crawlers *c); /* no answer may come any more */
/* Is the list well formed? Names with commas ("google, bing"), or "any". */
bool crawlers_names_ok(const char *names);
/* c NULL, ip NULL: it cannot be known. */
enum crawler_is crawlers_look(struct crawlers *c, const char *names, struct slice user_agent,
                              const struct ip *ip, msec_t now_ms);

void *crawler_ctx(const struct crawler_ask *a); /* ctx of its io */
/* "": the address has no name, or nobody says. */
void crawler_named(struct crawler_ask *a, const char *name, msec_t now_ms);
/* n addresses of the name. failed: there may be more. */
void crawler_has(struct crawler_ask *a, const struct ip *addrs, size_t n, bool failed, msec_t now_ms);

#endif
