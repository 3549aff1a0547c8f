/* call_route.c: see call_route.h. */
#include "router/task_api/call_route.h"

#include <string.h>

#include "common/base/text.h"
#include "common/json/json_scan.h"
#include "common/submit/body.h"
#include "common/submit/submission.h"
#include "common/task/call.h"

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

/* ---- costs -------------------------------------------------------------------------------- */

const char *call_cost_named(const struct http_req *q, int64_t *cost)
{
    struct slice text;
    uint64_t v = 0;

    *cost = 0;
    if (http_find(q, "segq-cost", &text) == 0)
        return NULL;
    for (size_t i = 0; i < text.n && v <= TASK_COST_MAX; i++)
        v = text.p[i] >= '0' && text.p[i] <= '9' ? 10 * v + (uint64_t)(text.p[i] - '0') : UINT32_MAX;
    *cost = (int64_t)v;
    return v >= 1 && v <= TASK_COST_MAX ? NULL : "segq-cost must be a whole number from 1 to 1000000000";
}

const char *call_cost_beyond(const struct task_way *w, int64_t cost)
{
    return w != NULL && w->max_cost != 0 && cost > (int64_t)w->max_cost ? w->cost_says : NULL;
}

const char *call_cost(const struct task_way *w, const struct tenant *t, struct slice body, uint64_t length,
                      int64_t *cost)
{
    const char *why;

    if (w == NULL || !cost_has_rule(&w->cost)) /* tenant_bind() tells a tenant of its bound */
        return tenant_bears(t, *cost) ? call_cost_beyond(w, *cost) : NULL;
    why = submit_units(&w->cost, body, length, cost);
    if (why != NULL)
        return why;
    return tenant_bears(t, *cost) ? call_cost_beyond(w, *cost)
           : "this token is a tenant's, and the call is estimated at more units than its calls may take (cost= "
             "of its line in task_tokens): ask for less";
}

const char *call_cost_of_form(const struct task_way *w, const struct tenant *t, struct slice form, int64_t *cost)
{
    struct call c;

    if (w == NULL || !cost_has_rule(&w->cost) || call_unpack((const uint8_t *)form.p, form.n, &c) < 0)
        return call_cost_beyond(w, *cost);
    return call_cost(w, t, (struct slice){ (char *)(uintptr_t)c.body.p, c.body.n }, c.body.n, cost);
}
