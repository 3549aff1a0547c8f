/* classic_target.c: see classic_target.h. */
#include "router/compat/classic_target.h"

#include <string.h>
#include <strings.h>

#include "common/task/url.h"

static bool is_visible(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= 0x20 || s.p[i] >= 0x7f)
            return false;
    return true;
}

/* The endpoint's path is `rest`'s beginning, and a part ends there. An url that is the endpoint's own
 * cannot be called, but that of a host alone: a call's path begins with a slash. */
static bool is_below(const struct url *own, struct slice rest)
{
    size_t n = strlen(own->path);

    return n == 0 || (rest.n > n && memcmp(rest.p, own->path, n) == 0 && rest.p[n] == '/');
}

const char *classic_target_find(struct classic_target *t, const struct pools *pools,
                                struct slice text, bool *unknown)
{
    struct slice rest;
    struct url u, own;
    size_t best = 0, used = 0;
    const char *why = is_visible(text) ? url_authority(&u, text.p, text.n, &used)
                                       : "has a character that must be escaped", *mark;

    *unknown = false;
    *t = (struct classic_target){ 0 };
    if (why != NULL)
        return why;
    rest = (struct slice){ text.p + used, text.n - used };
    if (memchr(rest.p, '#', rest.n) != NULL)
        return "has a fragment";
    for (uint32_t i = 0; i < pools->map.n_pools; i++) {
        const struct map_pool *p = &pools->map.pools[i];

        if (p->url[0] == '\0' || url_parse(&own, p->url) != NULL || !url_same_host(&own, &u) ||
            !is_below(&own, rest))
            continue;
        if (t->endpoint == NULL || strlen(own.path) > best) {
            best = strlen(own.path);
            t->endpoint = p->endpoint;
        }
    }
    *unknown = t->endpoint == NULL;
    if (*unknown)
        return "is not below the url of any endpoint: `segqctl endpoint list`";
    if (rest.n == 0 || rest.p[0] == '?') { /* a slash in place of the host's last character */
        rest = (struct slice){ rest.p - 1, rest.n + 1 };
        rest.p[0] = '/';
    }
    mark = memchr(rest.p, '?', rest.n);
    t->path = (struct slice){ rest.p + best, rest.n - best };
    t->whole = (struct slice){ rest.p, mark != NULL ? (size_t)(mark - rest.p) : rest.n };
    return NULL;
}
