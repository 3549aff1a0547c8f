/* classic.c: see classic.h. */
#include "router/compat/classic.h"

#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/text.h"
#include "common/submit/json_members.h"
#include "common/task/url.h"
#include "common/ticket/pass.h"
#include "router/api/json_out.h"

struct members { /* slices of the body; n 0: not there */
    struct slice target_url, http_method, task_type, task_id; /* texts */
    struct slice body, headers, priority, timestamp, claim;   /* JSON, as it stands */
};

#define M(member, how, must)                                                             \
    { #member, offsetof(struct members, member), 1, INT64_MAX, how, RANGE_UNSAID, NULL, must }
#define TEXT(member) M(member, json_text, " must be a string, and not empty")
#define ANY(member)  M(member, json_value, NULL)
static const struct json_member table[] = {
    TEXT(task_id), TEXT(target_url), TEXT(http_method), TEXT(task_type), ANY(body),
    ANY(headers),  ANY(priority),    ANY(timestamp),    ANY(claim),
};

enum { CANCELS = 1, SUBMITS = ~CANCELS }; /* members of cancelTask, a bit for each; of submitTask */

static bool say(struct classic_error *e, enum api_problem p, const char *what, const char *why)
{
    e->problem = p;
    snprintf(e->detail, sizeof(e->detail), "%s%s", what, why);
    return false;
}

static bool bad(struct classic_error *e, const char *what, const char *why)
{
    return say(e, API_BAD_REQUEST, what, why);
}

/* ---- the body ---------------------------------------------------------------------------- */

static bool read_members(struct members *m, struct slice body, uint64_t may,
                         struct classic_error *e)
{
    struct body_error why;
    uint64_t has;

    *m = (struct members){ 0 };
    return json_members_whole(table, ARRAY_LEN(table), may, body, m, &has, &why) ||
           bad(e, why.text, "");
}

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
        const char *urls = pools->map.pools[i].url;

        while (url_next(&own, &urls))
            if (url_same_host(&own, &u) && is_below(&own, rest) &&
                (t->endpoint == NULL || strlen(own.path) > best)) {
                best = strlen(own.path);
                t->endpoint = pools->map.pools[i].endpoint;
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

/* ---- submitTask -------------------------------------------------------------------------- */

/* Unix seconds, or ms (from 1e11 on), as a number or a string of one; -1: it is none. */
static int64_t seconds_of(struct slice s)
{
    int64_t v = 0;
    size_t i = 0;

    if (s.n > 2 && s.p[0] == '"')
        s = (struct slice){ s.p + 1, s.n - 2 };
    for (; i < s.n && i < 15 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        v = v * 10 + (s.p[i] - '0');
    if (i == 0 || (i < s.n && s.p[i] != '.'))
        return -1;
    return v >= 100000000000 ? v / 1000 : v;
}

/* Refuses old times: a recorded request is not sent again later, and a wrong clock is told. */
static bool is_now(struct slice timestamp, int64_t now_s, struct classic_error *e)
{
    int64_t s = timestamp.n > 0 ? seconds_of(timestamp) : now_s;

    if (s < 0)
        return bad(e, "timestamp must be Unix seconds, or milliseconds", "");
    return (s >= now_s - CLASSIC_CLOCK_S && s <= now_s + CLASSIC_CLOCK_S) ||
           bad(e, "timestamp is more than 15 minutes from our clock", "");
}

/* In capital letters, where it lies. */
static struct slice method_of(struct slice m)
{
    static char post[] = "POST";

    for (size_t i = 0; i < m.n; i++)
        if (m.p[i] >= 'a' && m.p[i] <= 'z')
            m.p[i] = (char)(m.p[i] - 0x20);
    return m.n > 0 ? m : (struct slice){ post, 4 };
}

static void add_text(struct buf *b, const char *name, struct slice text)
{
    buf_str(b, name);
    json_utf8(b, text.p, text.n);
}

static void add_json(struct buf *b, const char *name, struct slice json)
{
    if (json.n == 0)
        return;
    buf_str(b, name);
    buf_append(b, json.p, json.n);
}

/* Text that is JSON reaches the target as such, byte for byte, with its Content-Type. */
static void add_body(struct buf *b, struct slice body)
{
    struct slice text, value;
    struct json_scan s;

    if (body.n == 0 || slice_is(body, "null"))
        return;
    if (body.p[0] != '"') {
        add_json(b, ",\"body_json\":", body);
        return;
    }
    json_scan_init(&s, body);
    if (!json_scan_text(&s, &text)) /* a number: it was read */
        return;
    json_scan_init(&s, text);
    if (json_scan_value(&s, &value) && value.n == text.n)
        add_json(b, ",\"body_json\":", value);
    else
        add_text(b, ",\"body\":", text);
}

/* The lanes of their priorities: 0 ordinary, 2 VIP, 3 SVIP. A lane wants a right, join.h. False: it is
 * none. */
static bool add_lane(struct buf *b, struct slice priority)
{
    if (slice_is(priority, "2"))
        ADD(b, ",\"lane\":\"vip\"");
    else if (slice_is(priority, "3"))
        ADD(b, ",\"lane\":\"svip\"");
    return priority.n == 0 || slice_is(priority, "0") || slice_is(priority, "2") || slice_is(priority, "3");
}

/* The queue of the endpoint: "gen/tasks". */
static bool find_queue(struct classic_ask *c, const char *endpoint, const struct pools *pools,
                       struct classic_error *e)
{
    const char *queue = pools_queue_of(pools, endpoint, strlen(endpoint));

    if (queue == NULL)
        return say(e, API_ENDPOINT_UNKNOWN, "several pools have the endpoint of target_url, "
                   "and none its name: ", endpoint);
    c->a.arg = (struct slice){ c->arg, (size_t)snprintf(c->arg, sizeof(c->arg), "%s/tasks", queue) };
    return true;
}

static void offline(struct classic_ask *c, const struct members *m, const struct classic_target *t)
{
    static char prefer[32 + HTTP_SLACK] = "Prefer: wait=0\r\n"; /* with its place */

    ADD(&c->body, "{");
    add_text(&c->body, "\"path\":", t->path);
    add_text(&c->body, ",\"method\":", method_of(m->http_method));
    add_body(&c->body, m->body);
    add_json(&c->body, ",\"headers\":", m->headers);
    add_json(&c->body, ",\"priority\":", m->priority);
    c->q.prefers = true;
    c->q.fields = (struct slice){ prefer, strlen(prefer) };
    c->a.call = API_TASKS;
}

static bool online(struct classic_ask *c, const struct members *m, const struct classic_target *t,
                   struct classic_error *e)
{
    char htu[BOUND_HTU_MAX + 2];

    snprintf(htu, sizeof(htu), "%.*s", (int)u64_min(t->whole.n, sizeof(htu) - 1), t->whole.p);
    if (!bound_htu_ok(htu))
        return bad(e, "target_url: the path of an online task has 1 to 100 characters, without "
                   "escapes or dots", "");
    ADD(&c->body, "{\"kind\":\"permit\",\"use\":\"once\"");
    if (!add_lane(&c->body, m->priority))
        return bad(e, "priority of an online task must be 0, 2 (the lane vip) or 3 (the lane svip)", "");
    add_text(&c->body, ",\"htm\":", method_of(m->http_method));
    add_text(&c->body, ",\"htu\":", t->whole);
    add_json(&c->body, ",\"claim\":", m->claim);
    c->queue = (struct slice){ c->arg, c->a.arg.n - strlen("/tasks") };
    c->a.call = API_PERMIT;
    return true;
}

/* Before its target is looked for: which addresses are endpoints is not told to strangers. */
static bool may_be_offline(const struct http_req *q, const struct members *m, struct classic_error *e)
{
    if (m->claim.n > 0)
        return bad(e, "claim is of online tasks: offline ones need the token of a server", "");
    return api_bearer(q).n > 0 ||
           say(e, API_UNAUTHORIZED, "offline tasks need the token of a server that may submit: `Authorization: Bearer TOKEN`", "");
}

static bool submit(struct classic_ask *c, const struct http_req *q, const struct pools *pools,
                   int64_t now_s, struct classic_error *e)
{
    struct classic_target t;
    struct members m;
    const char *why;
    bool unknown;

    if (!read_members(&m, q->body, (uint32_t)SUBMITS, e) || !is_now(m.timestamp, now_s, e))
        return false;
    if (m.target_url.n == 0)
        return bad(e, "target_url is missing", "");
    if (m.task_type.n > 0 && !slice_is(m.task_type, "offline") && !slice_is(m.task_type, "online"))
        return bad(e, "task_type must be online or offline", "");
    if (!pools->known)
        return say(e, API_QUEUE_UNAVAILABLE, "endpoints are not known yet; ask again", "");
    if (!slice_is(m.task_type, "online") && !may_be_offline(q, &m, e))
        return false;
    why = classic_target_find(&t, pools, m.target_url, &unknown);
    if (why != NULL)
        return say(e, unknown ? API_ENDPOINT_UNKNOWN : API_BAD_REQUEST, "target_url ", why);
    if (!find_queue(c, t.endpoint, pools, e))
        return false;
    if (!slice_is(m.task_type, "online"))
        offline(c, &m, &t);
    else if (!online(c, &m, &t, e))
        return false;
    ADD(&c->body, "}");
    if (c->body.failed)
        return say(e, API_QUEUE_UNAVAILABLE, "out of memory; ask again", "");
    c->q.body = (struct slice){ (char *)c->body.data, c->body.len };
    return true;
}

/* ---- queryTask, cancelTask --------------------------------------------------------------- */

static bool one(struct classic_ask *c, struct slice task_id, enum http_method method,
                struct classic_error *e)
{
    if (task_id.n == 0)
        return bad(e, "task_id is missing", "");
    c->q.method = method;
    c->q.has_body = false;
    c->q.body.n = 0;
    c->a.call = API_TASK;
    c->a.arg = task_id;
    return memchr(task_id.p, '/', task_id.n) == NULL || say(e, API_TASK_UNKNOWN,
                                                           "unknown task", "");
}

static struct slice task_id_of(struct slice query)
{
    struct slice id = { 0 };

    return api_query(query, "task_id=", &id) ? id : (struct slice){ 0 };
}

static bool cancel(struct classic_ask *c, const struct http_req *q, struct classic_error *e)
{
    struct members m;

    return read_members(&m, q->body, CANCELS, e) && one(c, m.task_id, HTTP_DELETE, e);
}

/* ---- the three --------------------------------------------------------------------------- */

static bool method_is(const struct http_req *q, bool reads, struct classic_error *e)
{
    bool good = reads ? q->method == HTTP_GET || q->method == HTTP_HEAD : q->method == HTTP_POST;

    e->allow = reads ? "GET, HEAD" : "POST";
    return good || say(e, API_METHOD_NOT_ALLOWED, "this call is ", e->allow);
}

bool classic_ask_read(struct classic_ask *c, const struct http_req *q, struct slice rest,
                      const struct pools *pools, int64_t now_s, struct classic_error *e)
{
    bool submits = slice_is(rest, "submitTask"), cancels = slice_is(rest, "cancelTask");

    *c = (struct classic_ask){ .q = *q };
    *e = (struct classic_error){ 0 };
    buf_init(&c->body);
    c->q.json = true;
    c->q.query.n = 0;
    c->q.fields.n = 0;
    c->q.prefers = false;
    if (slice_is(rest, "queryTask"))
        return method_is(q, true, e) && one(c, task_id_of(q->query), q->method, e);
    if (!submits && !cancels)
        return say(e, API_NOT_FOUND, "there are submitTask, queryTask and cancelTask", "");
    if (!method_is(q, false, e))
        return false;
    if (q->has_body && !q->json)
        return say(e, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON", "");
    return submits ? submit(c, q, pools, now_s, e) : cancel(c, q, e);
}

void classic_ask_free(struct classic_ask *c)
{
    buf_fini(&c->body);
}

/* ---- answers ---- */

static const struct {
    const char *state, *reason; /* ours; reason NULL: any */
    const char *status, *error, *message; /* theirs; error NULL: it has not failed */
} words[] = {
    { "scheduled", NULL, "pending", NULL, NULL },
    { "waiting", NULL, "pending", NULL, NULL },
    { "retrying", NULL, "pending", NULL, NULL },
    { "running", NULL, "processing", NULL, NULL },
    { "admitted", NULL, "processing", NULL, NULL },
    { "succeeded", NULL, "completed", NULL, NULL },
    { "finished", "finished", "completed", NULL, NULL },
    { "finished", "expired", "completed", NULL, NULL },
    { "finished", "left", "failed", "cancelled", "it was cancelled" },
    { "finished", "no_show", "failed", "no_show", "admitted, but never polled in time" },
    { "finished", NULL, "failed", "lost", "its place is gone" },
    { "dead", NULL, "failed", "dead", "the target did not answer well in any attempt" },
    { "expired", NULL, "failed", "expired", "its time was over before it was done" },
    { "cancelled", NULL, "failed", "cancelled", "it was cancelled" },
    { "", NULL, "pending", NULL, NULL }, /* not told; the last one is that of all others */
};

static bool is(const char *said, const char *word)
{
    return said != NULL && strcmp(said, word) == 0;
}

/* A string; "": it has not happened. */
static void add_time(struct buf *b, const char *name, int64_t unix_s, const struct classic_clock *c)
{
    char text[CLASSIC_TIME_MAX];

    buf_str(b, name);
    json_utf8(b, text, unix_s < 0 ? 0 : c->tell(text, c->layout, unix_s));
}

/* Number of those before it: our places begin with 1. -1: not known; a number in any case. */
static void add_before(struct buf *b, const struct api_told *x)
{
    buf_str(b, ",\"wait_num\":");
    buf_i64(b, x->position > 0 ? x->position - 1 : -1);
    buf_str(b, ",\"wait_time\":");
    buf_i64(b, x->eta_s);
}

/* Any bytes as a JSON string: control characters are escaped, what is no UTF-8 becomes U+FFFD. */
static void add_bytes(struct buf *b, struct slice t)
{
    static const char digits[] = "0123456789abcdef";
    size_t n;

    ADD(b, "\"");
    for (size_t i = 0; i < t.n; i += n) {
        uint8_t c = (uint8_t)t.p[i];

        n = c < 0x80 ? 1 : (size_t)utf8_len(t.p + i, t.n - i);
        if (c < 0x20) {
            ADD(b, "\\u00");
            buf_byte(b, (uint8_t)digits[c >> 4]);
            buf_byte(b, (uint8_t)digits[c & 15]);
        } else if (n == 0) {
            n = 1;
            ADD(b, "\xef\xbf\xbd");
        } else {
            if (c == '"' || c == '\\')
                ADD(b, "\\");
            buf_append(b, t.p + i, n);
        }
    }
    ADD(b, "\"");
}

/* A string: what the target or the worker said, as it came; or the pass, as JSON. */
static void add_result(struct buf *b, const struct api_told *x)
{
    ADD(b, ",\"task_result\":");
    if (x->pass == NULL) {
        add_bytes(b, x->result);
        return;
    }
    out_bytes(b, "\"{\\\"pass\\\":\\\"", x->pass, x->pass_len);
    out_u64(b, "\\\",\\\"pass_expires_at\\\":", (uint64_t)x->pass_expires_s);
    ADD(b, "}\"");
}

static void add_error(struct buf *b, const char *code, const char *message)
{
    buf_str(b, ",\"task_error\":{\"code\":\"");
    buf_str(b, code);
    buf_str(b, "\",\"message\":\"");
    buf_str(b, message);
    ADD(b, "\"}");
}

/* fresh: it was made just now. */
static void task(struct buf *b, const struct api_told *x, bool fresh, const struct classic_clock *c)
{
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(words) &&
           (!is(x->state, words[i].state) ||
            (words[i].reason != NULL && !is(x->reason, words[i].reason))))
        i++;
    out_word(b, "{\"task_id\":", x->task);
    out_word(b, ",\"task_type\":", x->permit ? "online" : "offline");
    out_word(b, ",\"task_status\":", words[i].status);
    /* A ticket does not keep when it joined. */
    add_time(b, ",\"created_at\":", x->permit && fresh ? c->now_s : x->entered_s, c);
    if (strcmp(words[i].status, "pending") == 0)
        add_before(b, x);
    else
        ADD(b, ",\"wait_num\":0,\"wait_time\":0");
    add_result(b, x);
    add_time(b, ",\"started_at\":", x->started_s, c);
    add_time(b, ",\"ended_at\":", x->ended_s, c);
    if (x->stopping)
        ADD(b, ",\"stopping\":true");
    if (words[i].error != NULL)
        add_error(b, words[i].error, words[i].message);
    ADD(b, "}");
}

void classic_answer(struct api_ans *a, const struct classic_clock *c)
{
    const struct api_told *x = &a->told;

    if (a->status != 204 && (a->body.len == 0 || (x->task[0] == '\0' && x->code == NULL)))
        return;
    buf_reset(&a->body);
    a->type = API_JSON;
    if (a->status == 204) { /* a cancel of what has gone */
        ADD(&a->body, "{\"task_id\":\"\",\"task_status\":\"failed\"");
        add_error(&a->body, "task_gone", "it was over, and is not kept any more");
        ADD(&a->body, "}");
        a->status = 200;
    } else if (x->code != NULL) {
        out_text(&a->body, "{\"code\":", x->code);
        out_text(&a->body, ",\"message\":", x->detail);
        ADD(&a->body, "}");
    } else {
        task(&a->body, x, a->status == 201, c);
        a->status = 200;
    }
}
