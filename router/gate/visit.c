/* visit.c: see visit.h. Pure. */
#include "router/gate/visit.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool begins(struct slice v, const char *t)
{
    return v.n >= strlen(t) && memcmp(v.p, t, strlen(t)) == 0;
}

static bool holds(struct slice v, const char *t, int (*compared)(const char *, const char *, size_t))
{
    size_t n = strlen(t);

    for (size_t i = 0; i + n <= v.n; i++)
        if (compared(v.p + i, t, n) == 0)
            return true;
    return false;
}

/* The spelling of browsers; small letters do for programs, too. */
static bool names(struct slice accept, const char *type)
{
    return holds(accept, type, strncmp);
}

bool visit_wants_json(const struct http_req *q)
{
    struct slice v;

    return http_find(q, "accept", &v) > 0 && names(v, "application/json") && !names(v, "text/html");
}

enum visit visit_of(const struct http_req *q, struct slice method, bool whole)
{
    bool reads = method.n == 0 || slice_is(method, "GET") || slice_is(method, "HEAD");
    struct slice v;

    if (http_find(q, "sec-fetch-mode", &v) > 0) {
        if (!slice_is(v, "navigate"))
            return VISIT_CALL;
        return reads ? VISIT_PAGE : VISIT_FORM;
    }
    if (!reads)
        return VISIT_CALL;
    if (http_find(q, "accept", &v) > 0)
        return names(v, "text/html") ? VISIT_PAGE : VISIT_CALL;
    return whole ? VISIT_CALL : VISIT_PAGE;
}

bool visit_is_looked_at(const struct http_req *q)
{
    struct slice v;

    return http_find(q, "sec-fetch-mode", &v) == 1 && slice_is(v, "navigate") &&
           http_find(q, "sec-fetch-dest", &v) == 1 && slice_is(v, "document") &&
           !visit_is_ahead(q);
}

bool visit_is_ahead(const struct http_req *q)
{
    static const char *const says[] = { "sec-purpose", "purpose", "x-purpose", "x-moz" };
    struct slice v;

    for (size_t i = 0; i < ARRAY_LEN(says); i++)
        if (http_find(q, says[i], &v) > 0 && (begins(v, "prefetch") || begins(v, "preview")))
            return true;
    return false;
}

/* "shop.example" for "shop.example:8443" and the other way round: a gate may hand on Host
 * without its port. */
static bool same_host(struct slice a, struct slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    struct slice longer = a.n > b.n ? a : b;

    if (n == 0 || memcmp(a.p, b.p, n) != 0)
        return false;
    return a.n == b.n || longer.p[n] == ':';
}

struct slice visit_from(const struct http_req *q, struct slice host)
{
    struct slice none = { NULL, 0 }, v, from;
    size_t at, end;

    if (http_find(q, "referer", &v) != 1)
        return none;
    at = begins(v, "https://") ? 8 : begins(v, "http://") ? 7 : 0;
    for (end = at; end < v.n && v.p[end] != '/' && v.p[end] != '?' && v.p[end] != '#'; end++)
        continue;
    from = (struct slice){ v.p + at, end - at };
    if (at == 0 || end == v.n || v.p[end] != '/' || !same_host(from, host))
        return none;
    v = (struct slice){ v.p + end, v.n - end };
    if (memchr(v.p, '#', v.n) != NULL || (v.n > 1 && v.p[1] == '/'))
        return none;
    return v;
}

/* ---- crawlers: the domains are those that the owners' pages on their crawlers name ---- */

#define KEEP_MS       3600000 /* a crawler */
#define KEEP_NONE_MS  600000  /* an address that is nobody's crawler */
#define KEEP_FAULT_MS 10000   /* name servers are silent */

static const struct {
    const char *name, *agent;
    const char *domain[3];
} known[] = {
    { "google", "googlebot", { ".googlebot.com" } }, /* .google.com fetches for users, too */
    { "bing", "bing", { ".search.msn.com" } },
    { "apple", "applebot", { ".applebot.apple.com" } },
    { "yandex", "yandex", { ".yandex.ru", ".yandex.net", ".yandex.com" } },
    { "baidu", "baidu", { ".baidu.com", ".baidu.jp" } },
};

#define NONE ARRAY_LEN(known)

struct seen { /* an address that was asked about */
    struct ip ip;
    msec_t until_ms; /* 0: free */
    uint8_t is;      /* index in known; NONE */
    bool asking;
};

struct crawler_ask {
    struct crawlers *c; /* ref; NULL: no question */
    struct ip ip;
    uint8_t is;         /* owner by the address' name */
};

struct crawlers {
    struct crawler_io io;
    uint8_t key[crypto_shorthash_KEYBYTES];
    struct crawler_ask ask[CRAWLER_ASKS];
    struct seen seen[CRAWLER_ADDRS]; /* two by two, by a keyed hash */
};

struct crawlers *crawlers_new(const struct crawler_io *io)
{
    struct crawlers *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->io = *io;
    crypto_shorthash_keygen(c->key);
    return c;
}

void crawlers_free(struct crawlers *c)
{
    free(c);
}

/* ---- names ----------------------------------------------------------------------------- */

static size_t index_of(struct slice name)
{
    size_t i = 0;

    while (i < NONE && !slice_is(name, known[i].name))
        i++;
    return i;
}

bool crawlers_names_ok(const char *names)
{
    struct slice list = slice_of(names), w;
    unsigned n = 0;

    for (; http_item_next(&list, &w); n++)
        if (!slice_is(w, "any") && index_of(w) == NONE)
            return false;
    return n > 0 || names[0] == '\0';
}

static bool has(const char *names, size_t is)
{
    struct slice list = slice_of(names), w;

    while (is < NONE && http_item_next(&list, &w))
        if (slice_is(w, "any") || index_of(w) == is)
            return true;
    return false;
}

/* Whose domain has the name; NONE: nobody's. */
static uint8_t owner_of(const char *name)
{
    size_t n = strlen(name);

    for (uint8_t i = 0; i < NONE; i++)
        for (size_t k = 0; k < ARRAY_LEN(known[i].domain) && known[i].domain[k] != NULL; k++) {
            size_t d = strlen(known[i].domain[k]);

            if (n > d && strcasecmp(name + n - d, known[i].domain[k]) == 0)
                return i;
        }
    return NONE;
}

/* ---- asking ---------------------------------------------------------------------------- */

static bool is_of(const struct seen *s, const struct ip *ip)
{
    return s->until_ms > 0 && memcmp(s->ip.b, ip->b, sizeof(ip->b)) == 0;
}

/* Place of its own, else the less valuable of two: a crawler that was found stays, so that strangers
 * do not drive it out. */
static struct seen *place_of(struct crawlers *c, const struct ip *ip, msec_t now_ms)
{
    uint8_t h[crypto_shorthash_BYTES];
    struct seen *two;
    uint64_t v;

    crypto_shorthash(h, ip->b, sizeof(ip->b), c->key);
    memcpy(&v, h, sizeof(v));
    two = &c->seen[v % (CRAWLER_ADDRS / 2) * 2];
    if (is_of(&two[0], ip) || is_of(&two[1], ip))
        return &two[!is_of(&two[0], ip)];
    return &two[two[0].until_ms > now_ms && two[0].is != NONE];
}

void *crawler_ctx(const struct crawler_ask *a)
{
    return a->c->io.ctx;
}

/* Ends the question. */
static void note(struct crawler_ask *a, uint8_t is, msec_t now_ms, msec_t keep_ms)
{
    *place_of(a->c, &a->ip, now_ms) = (struct seen){ .ip = a->ip, .is = is,
                                                 .until_ms = now_ms + keep_ms };
    a->c = NULL;
}

void crawler_has(struct crawler_ask *a, const struct ip *addrs, size_t n, bool failed, msec_t now_ms)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(addrs[i].b, a->ip.b, sizeof(a->ip.b)) == 0) {
            note(a, a->is, now_ms, KEEP_MS);
            return;
        }
    note(a, NONE, now_ms, failed ? KEEP_FAULT_MS : KEEP_NONE_MS);
}

void crawler_named(struct crawler_ask *a, const char *name, msec_t now_ms)
{
    a->is = owner_of(name);
    if (a->is == NONE)
        note(a, NONE, now_ms, name[0] == '\0' ? KEEP_FAULT_MS : KEEP_NONE_MS);
    else if (!a->c->io.addrs(a->c->io.ctx, name, a))
        note(a, NONE, now_ms, KEEP_FAULT_MS);
}

static void begin(struct crawlers *c, struct seen *s, const struct ip *ip, msec_t now_ms)
{
    struct crawler_ask *a = c->ask;

    while (a < c->ask + CRAWLER_ASKS && a->c != NULL)
        a++;
    if (a == c->ask + CRAWLER_ASKS)
        return; /* asked about when it comes again */
    *a = (struct crawler_ask){ .c = c, .ip = *ip };
    if (c->io.name(c->io.ctx, ip, a))
        *s = (struct seen){ .ip = *ip, .is = NONE, .asking = true,
                            .until_ms = now_ms + KEEP_NONE_MS };
    else
        a->c = NULL;
}

enum crawler_is crawlers_look(struct crawlers *c, const char *names, struct slice user_agent,
                              const struct ip *ip, msec_t now_ms)
{
    struct seen *s;
    bool claims = false;

    for (size_t i = 0; i < NONE; i++)
        claims |= has(names, i) && holds(user_agent, known[i].agent, strncasecmp);
    if (!claims)
        return CRAWLER_NO;
    if (c == NULL || ip == NULL)
        return CRAWLER_UNKNOWN;
    s = place_of(c, ip, now_ms);
    if (!is_of(s, ip) || s->until_ms <= now_ms)
        begin(c, s, ip, now_ms);
    if (!is_of(s, ip) || s->asking || s->until_ms <= now_ms)
        return CRAWLER_UNKNOWN;
    return has(names, s->is) ? CRAWLER_YES : CRAWLER_NO;
}
