/* crawlers.h: is who asks the crawler that its User-Agent names? The address has a name (PTR) in a domain
 * of the crawler's owner, and that name has the address: what the owners themselves advise. Remembered for
 * an hour. Pure: name servers are asked by struct crawler_io.
 *
 * Only who says that it is a crawler is asked about, and at most CRAWLER_ASKS at a time; until then, and
 * where name servers are silent, it is not known. */
#ifndef SEGQ_CRAWLERS_H
#define SEGQ_CRAWLERS_H

#include "common/base/ip.h"
#include "common/base/text.h"

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
