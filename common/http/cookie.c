/* cookie.c: see cookie.h. Pure. The usual single line costs no look at the other fields. */
#include "common/http/cookie.h"

#include <string.h>

/* "a=b; c=d": the next pair of that name; false: none in the rest of this line. */
static bool in_line(struct slice *rest, const char *name, struct slice *v)
{
    size_t n = strlen(name);

    while (rest->n > 0) {
        const char *end = memchr(rest->p, ';', rest->n);
        struct slice pair = { rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n };

        rest->p += pair.n + (end != NULL);
        rest->n -= pair.n + (end != NULL);
        while (pair.n > 0 && (*pair.p == ' ' || *pair.p == '\t')) {
            pair.p++;
            pair.n--;
        }
        while (pair.n > 0 && (pair.p[pair.n - 1] == ' ' || pair.p[pair.n - 1] == '\t'))
            pair.n--;
        if (pair.n <= n || memcmp(pair.p, name, n) != 0 || pair.p[n] != '=')
            continue;
        *v = (struct slice){ pair.p + n + 1, pair.n - n - 1 };
        return true;
    }
    return false;
}

static bool next_line(struct cookies *c, const struct http_req *q)
{
    if (c->line == q->cookies)
        return false;
    if (c->line++ == 0) {
        c->rest = q->cookie;
        return true;
    }
    if (c->line == 2) { /* from the top: where the first one ended is not kept */
        c->after = q->fields;
        if (!http_next(&c->after, "cookie", &c->rest))
            return false;
    }
    return http_next(&c->after, "cookie", &c->rest);
}

bool cookie_next(struct cookies *c, const struct http_req *q, const char *name,
                 struct slice *v)
{
    do
        if (in_line(&c->rest, name, v))
            return true;
    while (next_line(c, q));
    return false;
}
