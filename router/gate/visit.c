/* visit.c: see visit.h. Pure. */
#include "router/gate/visit.h"

#include <string.h>

static bool begins(struct slice v, const char *t)
{
    return v.n >= strlen(t) && memcmp(v.p, t, strlen(t)) == 0;
}

/* The spelling of browsers; small letters do for programs, too. */
static bool names(struct slice accept, const char *type)
{
    size_t n = strlen(type);

    for (size_t i = 0; i + n <= accept.n; i++)
        if (memcmp(accept.p + i, type, n) == 0)
            return true;
    return false;
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
