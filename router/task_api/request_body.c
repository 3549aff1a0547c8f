/* request_body.c: the query becomes the JSON object that it stands for, so that one table reads both. */
#include "router/task_api/request_body.h"

#include <string.h>

#include "common/base/json.h"
#include "common/base/text.h"
#include "common/http/http_scan.h"
#include "common/json/json_scan.h"
#include "common/submit/body.h"
#include "common/submit/submission.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "router/api/json_out.h"

/* A number as JSON has it. */
static bool is_number(struct slice v)
{
    size_t digits = v.n > 0 && v.p[0] == '-' ? 1 : 0, first = digits;

    while (digits < v.n && v.p[digits] >= '0' && v.p[digits] <= '9')
        digits++;
    return digits == v.n && digits > first && (v.p[first] != '0' || digits == first + 1);
}

static bool is_text(struct slice name)
{
    return slice_is(name, "key") || slice_is(name, "name") || slice_is(name, "group");
}

static void put_list(struct buf *b, struct slice v)
{
    ADD(b, "[");
    while (v.n > 0) {
        const char *comma = memchr(v.p, ',', v.n);
        size_t n = comma != NULL ? (size_t)(comma - v.p) : v.n;

        json_utf8(b, v.p, n);
        n += comma != NULL;
        v.p += n;
        v.n -= n;
        if (v.n > 0)
            ADD(b, ",");
    }
    ADD(b, "]");
}

static void put_value(struct buf *b, struct slice name, struct slice v)
{
    if (slice_is(name, "labels"))
        put_list(b, v);
    else if (!is_text(name) && is_number(v))
        buf_append(b, v.p, v.n);
    else
        json_utf8(b, v.p, v.n);
}

/* False: an escape is none, or what it stands for is no text: JSON would have another in its place. */
static bool unescape(struct slice *v)
{
    int64_t n = http_unescape(v->p, v->n);

    v->n = n > 0 ? (size_t)n : 0;
    return n >= 0 && utf8_ok(v->p, v->n);
}

static bool put_query(struct buf *b, struct slice query)
{
    bool good = true, first = true;

    ADD(b, "{");
    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n), *is;
        struct slice name = { query.p, end != NULL ? (size_t)(end - query.p) : query.n }, value = { 0 };

        query.p += name.n + (end != NULL);
        query.n -= name.n + (end != NULL);
        is = memchr(name.p, '=', name.n);
        if (is != NULL) {
            value = (struct slice){ name.p + (is - name.p) + 1, name.n - (size_t)(is - name.p) - 1 };
            name.n = (size_t)(is - name.p);
        }
        good &= unescape(&name) && unescape(&value);
        if (!first)
            ADD(b, ",");
        first = false;
        json_utf8(b, name.p, name.n);
        ADD(b, ":");
        put_value(b, name, value);
    }
    ADD(b, "}");
    return good;
}

bool raw_body_read(struct task_body *b, struct buf *text, const struct http_req *q, struct body_error *e)
{
    struct slice type;

    *e = (struct body_error){ 0 };
    if (!put_query(text, q->query))
        return json_say(e, "the query has an escape that is none, or is no UTF-8", (struct slice){ 0 }, "");
    if (text->failed)
        return json_say(e, "out of memory; ask again", (struct slice){ 0 }, "");
    if (!task_body_whole(b, (struct slice){ (char *)text->data, text->len }, RAW_MEMBERS, e))
        return false;
    if (http_find(q, "content-type", &type) != 1 || !payload_type_ok(type.p, type.n))
        return json_say(e, "Content-Type must be one such as image/png", (struct slice){ 0 }, "");
    b->has |= WITH(PAYLOAD_BASE64) | WITH(CONTENT_TYPE);
    b->raw = true;
    b->payload_base64 = q->body;
    b->content_type = type;
    return true;
}

/* ---- takes from several queues ------------------------------------------------------------ */

/* to: n_queues. */
static bool take_queue(void *to, struct slice one)
{
    struct take_body *b = container_of(to, struct take_body, n_queues);

    for (uint32_t i = 0; i < b->n_queues; i++)
        if (slice_is(one, b->queue[i]))
            return false;
    if (!queue_name_ok(one.p, one.n))
        return false;
    memcpy(b->queue[b->n_queues], one.p, one.n);
    b->queue[b->n_queues++][one.n] = '\0';
    return true;
}

static bool read_queues(const struct json_member *m, struct json_scan *s, void *to)
{
    return json_list(m, s, to, take_queue);
}

#define AT(m) offsetof(struct take_body, m)
static const struct json_member members[] = {
    { "queues", AT(n_queues), 1, TAKE_QUEUES_MAX, read_queues, RANGE_UNSAID, NULL,
      " must be a list of 1 to 16 names of queues, each once, no patterns" },
    { "n", AT(n), 1, TASK_ROWS_MAX, json_whole, RANGE_NUMBER, NULL, " must be a whole number" },
    { "lease", AT(lease), 1, TASK_LEASE_MAX_MS, json_span, RANGE_TIME, NULL,
      " must be a time such as \"500ms\", \"2s\", \"1h\", or seconds" },
    { "wait", AT(wait), 0, TASK_WAIT_MAX_MS, json_span, RANGE_TIME, NULL,
      " must be a time such as \"500ms\", \"2s\", \"1h\", or seconds" },
};

bool take_body_read(struct take_body *b, struct slice text, struct body_error *e)
{
    uint64_t has;

    *b = (struct take_body){ .n = 1 };
    *e = (struct body_error){ 0 };
    if (text.n > 0 && !json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, text, b, &has, e))
        return false;
    if (b->n_queues == 0)
        return json_say(e, "queues is missing: a list of 1 to 16 names, such as [\"images\", \"ride/7\"]",
                        (struct slice){ "", 0 }, "");
    return true;
}

/* ---- call route --------------------------------------------------------------------------- */

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
