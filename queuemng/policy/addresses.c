/* addresses.c: lists of addresses are short: each is looked for in all. */
#include "queuemng/policy/addresses.h"

#include <assert.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/text.h"

bool discovered_has(const struct discovered *d, const char *address)
{
    for (unsigned i = 0; i < d->n; i++)
        if (strcmp(d->address[i], address) == 0)
            return true;
    return false;
}

bool discovered_add(struct discovered *d, const char *address)
{
    unsigned i = d->n;

    if (discovered_has(d, address))
        return true;
    if (d->n == DISCOVER_ALL)
        return false;
    for (; i > 0 && strcmp(d->address[i - 1], address) > 0; i--)
        memcpy(d->address[i], d->address[i - 1], DISCOVER_TEXT);
    copy_text(d->address[i], DISCOVER_TEXT, address);
    d->n++;
    return true;
}

static bool is_v6(const char *address)
{
    return strchr(address, ':') != NULL;
}

static bool has_some(const struct name_part *p)
{
    return p->how == NAME_FOUND && p->n > 0;
}

/* Addresses of one version: those of its answer, or those that were known. */
static void take(struct discovered *all, const struct discovered *was, const struct name_part *p, bool v6, bool other)
{
    for (unsigned i = 0; has_some(p) && i < p->n && i < DISCOVER_MOST; i++)
        (void)discovered_add(all, p->address[i]);
    if (has_some(p) || (p->how != NAME_FAILED && other))
        return;
    for (unsigned i = 0; i < was->n; i++)
        if (is_v6(was->address[i]) == v6)
            (void)discovered_add(all, was->address[i]);
}

/* A part of it is kept although no answer of now has it. */
static const char *why_kept(const struct discovered *was, const struct name_answer *a)
{
    if (!has_some(&a->v4) && !has_some(&a->v6))
        return a->v4.how != NAME_FOUND ? a->v4.why : a->v6.why;
    for (unsigned i = 0; i < was->n; i++) {
        const struct name_part *p = is_v6(was->address[i]) ? &a->v6 : &a->v4;

        if (p->how == NAME_FAILED)
            return p->why;
    }
    return "";
}

static void bound(struct discovered *d, const struct discovered *all, const struct discovered *was, unsigned most)
{
    for (unsigned known = 0; known < 2; known++)
        for (unsigned i = 0; i < all->n && d->n < most; i++)
            if (discovered_has(was, all->address[i]) == (known == 0))
                (void)discovered_add(d, all->address[i]);
    d->left_out = all->n - d->n;
}

static bool is_same(const struct discovered *a, const struct discovered *b)
{
    bool same = a->n == b->n;

    for (unsigned i = 0; same && i < a->n; i++)
        same = strcmp(a->address[i], b->address[i]) == 0;
    return same;
}

static msec_t until_next(const struct name_answer *a, const struct discovery_rules *r, bool well)
{
    msec_t ttl = r->most;

    if (!well)
        return r->least;
    if (has_some(&a->v4))
        ttl = ms_min(ttl, (msec_t)a->v4.ttl_s * 1000);
    if (has_some(&a->v6))
        ttl = ms_min(ttl, (msec_t)a->v6.ttl_s * 1000);
    return ms_max(ttl, r->least);
}

bool discovered_hear(struct discovered *d, const struct name_answer *a, const struct discovery_rules *r, msec_t now)
{
    struct discovered was = *d, all = { 0 };
    const char *why = why_kept(&was, a);

    assert(r->least > 0 && r->addresses > 0);
    take(&all, &was, &a->v4, false, has_some(&a->v6));
    take(&all, &was, &a->v6, true, has_some(&a->v4));
    *d = (struct discovered){ .heard = has_some(&a->v4) || has_some(&a->v6) ? now : was.heard };
    bound(d, &all, &was, r->addresses);
    copy_text(d->why, sizeof(d->why), why);
    d->due = now + until_next(a, r, why[0] == 0);
    return !is_same(d, &was);
}

/* ---- scheme, authority, path ---- */

/* Behind "http://" or "https://"; NULL: it is neither. */
static const char *behind_scheme(const char *url)
{
    static const char *const schemes[] = { "http://", "https://" };

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
            return url + strlen(schemes[i]);
    return NULL;
}

static bool port_ok(const char *p, size_t n) /* ":8080", or nothing */
{
    return n == 0 || (p[0] == ':' && n <= 6 && decimal_read(p + 1, n - 1, 65535) > 0);
}

/* "host", "host:port", "[v6]:port". */
static bool authority_ok(const char *p, size_t n)
{
    bool bracket = n > 0 && p[0] == '[';
    const char *end = memchr(p, bracket ? ']' : ':', n);
    size_t host = end != NULL ? (size_t)(end - p) : n;
    struct ip ip;

    if (bracket)
        return end != NULL && ip_parse(&ip, p + 1, host - 1) && !ip_is_v4(&ip) &&
               port_ok(end + 1, n - host - 1);
    return host > 0 && host <= 253 && p[0] != '.' && p[0] != '-' && text_is_of(p, host, "-._") &&
           port_ok(p + host, n - host);
}

const char *endpoint_url_wrong(const char *url, bool with_path)
{
    const char *rest = behind_scheme(url);
    size_t host = rest != NULL ? strcspn(rest, "/?#") : 0;

    if (rest == NULL)
        return "must begin with http:// or https://";
    if (memchr(rest, '@', host) != NULL)
        return "has a user's name in it: credentials go into headers of calls";
    if (!authority_ok(rest, host))
        return "has no host, or no such host and port";
    rest += host;
    if (strpbrk(rest, "?#") != NULL)
        return "has a query or a fragment";
    if (!with_path && rest[0] != 0 && strcmp(rest, "/") != 0)
        return "has a path";
    return text_is_of(rest, strlen(rest), "/-._~!$&'()*+,;=:@%") ? NULL : "has a character that must be escaped";
}

int networks_check(const struct cfg_list *l, const char *key, struct err *e)
{
    char *const *v = l->v;
    struct ip_net net;

    for (size_t i = 0; i < l->n; i++)
        if (!ip_net_parse(&net, v[i]))
            return err_set(e, SQ_EINVAL, "%s.%zu: %s is no network (10.0.0.0/8, fd00::/8, an address; bits "
                           "behind the prefix are 0)", key, i, v[i]);
    return 0;
}
