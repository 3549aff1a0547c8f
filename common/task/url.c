/* url.c: from left to right. */
#include "common/task/url.h"

#include <string.h>
#include <strings.h>

#include "common/base/text.h"

static bool all_in(const char *p, size_t n, const char *set)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == 0 || strchr(set, p[i]) == NULL)
            return false;
    return true;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static const char *host(struct url *u, const char *p, size_t n)
{
    bool v6 = n > 2 && p[0] == '[' && p[n - 1] == ']';

    p += v6;
    n -= v6 ? 2 : 0;
    if (n == 0)
        return "url: the host is missing";
    if (n > URL_HOST_MAX)
        return "url: the host is too long";
    if (!all_in(p, n, v6 ? "0123456789abcdefABCDEF:." : LETTERS "-._"))
        return "url: the host has a character that no host has (a user's name is not possible)";
    memcpy(u->host, p, n);
    u->host[n] = 0;
    return NULL;
}

static const char *port(struct url *u, const char *p, size_t n)
{
    int64_t v = n <= 5 ? decimal_read(p, n, 65535) : -1;

    if (v < 1)
        return "url: the port is no number from 1 to 65535";
    u->port = (uint16_t)v;
    return NULL;
}

static const char *path(struct url *u, const char *p)
{
    size_t n = strlen(p);

    while (n > 0 && p[n - 1] == '/')
        n--;
    if (n > URL_PATH_MAX)
        return "url: the path is too long";
    if (!all_in(p, n, LETTERS "/-._~!$&'()*+,;=:@%"))
        return "url: the path has a character that must be escaped, a query, or a fragment";
    memcpy(u->path, p, n);
    u->path[n] = 0;
    return NULL;
}

const char *url_parse(struct url *u, const char *text)
{
    size_t scheme = strncmp(text, "http://", 7) == 0 ? 7 : strncmp(text, "https://", 8) == 0 ? 8 : 0;
    const char *p = text + scheme, *end = p + strcspn(p, "/?#"), *colon = NULL;
    const char *why = scheme == 0 ? "url: begins neither with http:// nor with https://" : NULL;

    memset(u, 0, sizeof(*u));
    u->tls = scheme == 8;
    u->port = u->tls ? 443 : 80;
    for (const char *c = end; c > p && c[-1] != ']' && colon == NULL; c--)
        if (c[-1] == ':')
            colon = c - 1;
    if (why == NULL)
        why = host(u, p, (size_t)((colon != NULL ? colon : end) - p));
    if (why == NULL && colon != NULL)
        why = port(u, colon + 1, (size_t)(end - colon - 1));
    return why != NULL ? why : path(u, end);
}

bool url_next(struct url *u, const char **list)
{
    char one[URL_PATH_MAX + URL_HOST_MAX + 20];

    while (**list != '\0') {
        size_t n = strcspn(*list, " ");
        bool fits = n < sizeof(one);

        memcpy(one, *list, fits ? n : 0);
        one[fits ? n : 0] = '\0';
        *list += n + ((*list)[n] == ' ');
        if (url_parse(u, one) == NULL)
            return true;
    }
    return false;
}

const char *url_authority(struct url *u, const char *p, size_t n, size_t *used)
{
    char head[URL_HOST_MAX + 20];
    size_t at = 0, slashes = 0;

    while (at < n && p[at] != '?' && p[at] != '#' && (p[at] != '/' || slashes < 2))
        slashes += p[at++] == '/';
    if (at >= sizeof(head))
        return "has a host that is too long";
    memcpy(head, p, at);
    head[at] = '\0';
    *used = at;
    return url_parse(u, head) == NULL ? NULL : "must be http or https, a host, a port, a path";
}

bool url_same_host(const struct url *a, const struct url *b)
{
    return a->tls == b->tls && a->port == b->port && strcasecmp(a->host, b->host) == 0;
}
