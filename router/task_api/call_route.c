/* call_route.c: see the header. */
#include "router/task_api/call_route.h"

#include <string.h>

#include "common/base/text.h"
#include "common/json/json_scan.h"

struct doubts { /* why the word is not known although it is perhaps there */
    bool twice, deep;
};

/* Reads the value of the member `name`. False: the object is none, or has it not, or twice. */
static bool member(struct json_scan *s, const char *name, size_t n, struct slice *value, struct doubts *d)
{
    struct slice key, raw;
    bool first = true, found = false;

    if (json_scan_peek(s) != '{' || !json_scan_enter(s, '{'))
        return false;
    while (json_scan_member(s, &first, &key)) {
        bool same = key.n == n && memcmp(key.p, name, n) == 0;

        if (!json_scan_value(s, &raw)) {
            d->deep = s->deep;
            return false;
        }
        d->twice = d->twice || (same && found);
        if (same)
            *value = raw;
        found = found || same;
    }
    return s->why == NULL && found;
}

/* The word at the pointer, a string. n 0: there is none. Targets differ in which of two equal members
 * counts: so none does. */
static struct slice word_at(const char *pointer, struct slice value, struct doubts *d)
{
    struct slice word = { 0 };
    struct json_scan s;

    while (*pointer == '/') {
        size_t n = strcspn(++pointer, "/");

        json_scan_init(&s, value);
        if (!member(&s, pointer, n, &value, d) || d->twice)
            return word;
        pointer += n;
    }
    json_scan_init(&s, value);
    if (json_scan_peek(&s) != '"' || !json_scan_text(&s, &word))
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

enum route_end route_find(const struct pools *t, struct slice name, struct slice body, struct buf *scratch,
                          struct route_ways *out)
{
    const struct map_route *v = t->map.routes, *end = v + t->map.n_routes, *r = v;
    struct doubts d = { 0 };
    struct slice word;

    out->n = 0;
    while (r < end && !text_is(name.p, name.n, r->name))
        r++;
    if (r == end)
        return ROUTE_UNKNOWN;
    buf_reset(scratch);
    buf_append(scratch, body.p, body.n);
    word = scratch->failed || body.n == 0
               ? (struct slice){ 0 }
               : word_at(r->pointer, (struct slice){ (char *)scratch->data, scratch->len }, &d);
    if (d.twice)
        return ROUTE_TWICE;
    if (d.deep && r->n_match > 0)
        return ROUTE_DEEP;
    while (r < end && text_is(name.p, name.n, r->name) && !fits(r, word))
        r++;
    for (uint32_t rule = r < end ? r->rule : 0; r < end && text_is(name.p, name.n, r->name) &&
                                                r->rule == rule && out->n < ROUTE_WAYS_MAX; r++) {
        out->endpoint[out->n] = r->endpoint;
        out->max_wait_ms[out->n++] = r->max_wait_ms;
    }
    return out->n > 0 ? ROUTE_FOUND : ROUTE_NO_MATCH;
}
