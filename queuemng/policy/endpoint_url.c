/* endpoint_url.c: scheme, authority, path. */
#include "queuemng/policy/endpoint_url.h"

#include <string.h>

#include "common/base/ip.h"

/* Behind "http://" or "https://"; NULL: it is neither. */
static const char *behind_scheme(const char *url)
{
    static const char *const schemes[] = { "http://", "https://" };

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
            return url + strlen(schemes[i]);
    return NULL;
}

bool endpoint_text_is_of(const char *p, size_t n, const char *others)
{
    for (size_t i = 0; i < n; i++) {
        bool plain = (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
                     (p[i] >= '0' && p[i] <= '9');

        if (!plain && (p[i] == 0 || strchr(others, p[i]) == NULL))
            return false;
    }
    return true;
}

static bool port_ok(const char *p, size_t n) /* ":8080", or nothing */
{
    unsigned port = 0;

    if (n == 0)
        return true;
    if (p[0] != ':' || n < 2 || n > 6)
        return false;
    for (size_t i = 1; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        port = port * 10 + (unsigned)(p[i] - '0');
    }
    return port >= 1 && port <= 65535;
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
    return host > 0 && host <= 253 && p[0] != '.' && p[0] != '-' && endpoint_text_is_of(p, host, "-._") &&
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
    return endpoint_text_is_of(rest, strlen(rest), "/-._~!$&'()*+,;=:@%") ? NULL : "has a character that must be escaped";
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
