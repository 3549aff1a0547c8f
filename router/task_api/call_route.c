/* call_route.c: */
#include "router/task_api/call_route.h"

#include <string.h>

#include "common/base/text.h"
#include "common/json/json_scan.h"
#include "common/submit/body.h"

/* The word that is meant by a string of JSON; n 0: it is none. */
static struct slice word_of(struct slice raw, struct buf *scratch)
{
    struct slice word = { 0 };
    struct json_scan s;

    buf_reset(scratch);
    buf_append(scratch, raw.p, raw.n); /* reading changes escapes */
    if (scratch->failed || raw.n == 0 || raw.p[0] != '"')
        return word;
    json_scan_init(&s, (struct slice){ (char *)scratch->data, scratch->len });
    if (!json_scan_text(&s, &word))
        word.n = 0;
    return word;
}

static bool fits(const struct map_route *r, struct slice word)
{
    for (uint32_t i = 0; i < r->n_match; i++) {
        size_t n = strlen(r->match[i]);
        bool star = n > 0 && r->match[i][n - 1] == '*';

        n -= star;
        if (word.n > 0 && (star ? word.n >= n : word.n == n) && memcmp(word.p, r->match[i], n) == 0)
            return true;
    }
    return r->n_match == 0;
}

enum route_end route_find(const struct pools *t, struct slice name, struct slice body,
                          uint64_t length, struct buf *scratch,
                          struct route_ways *out)
{
    const struct map_route *v = t->map.routes, *end = v + t->map.n_routes, *r = v;
    struct slice raw = { 0 }, word;
    enum body_at at;

    out->n = 0;
    while (r < end && !text_is(name.p, name.n, r->name))
        r++;
    if (r == end)
        return ROUTE_UNKNOWN;
    at = body_at(body, length, r->pointer, &raw);
    if (at == AT_TWICE)
        return ROUTE_TWICE;
    if (at == AT_DEEP && r->n_match > 0)
        return ROUTE_DEEP;
    word = at == AT_FOUND ? word_of(raw, scratch) : (struct slice){ 0 };
    while (r < end && text_is(name.p, name.n, r->name) && !fits(r, word))
        r++;
    for (uint32_t rule = r < end ? r->rule : 0; r < end && text_is(name.p, name.n, r->name) &&
                                                r->rule == rule && out->n < ROUTE_WAYS_MAX; r++) {
        out->endpoint[out->n] = r->endpoint;
        out->max_wait_ms[out->n++] = r->max_wait_ms;
    }
    return out->n > 0 ? ROUTE_FOUND : ROUTE_NO_MATCH;
}
