/* submission.c: see submission.h. */
#include "common/submit/submission.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/submit/body.h"
#include "common/task/call.h"

/* ---- its digest ---- */

/* The meaning of "another payload": every router must say the same, in every release. */
static uint64_t digest_of(const void *p, size_t n)
{
    static const uint8_t key[crypto_shorthash_siphash24_KEYBYTES] = "segq payload"; /* public */
    uint64_t h;

    crypto_shorthash_siphash24((uint8_t *)&h, p, n, key);
    return h;
}

/* The parts of a call that count: its method, path and body. Its headers have what changes from one try to the next:
 * a trace, a number of the request, the gateways on the way. */
uint64_t submit_digest_of_call(struct slice form)
{
    struct call c;
    uint64_t h[3];

    if (call_unpack((const uint8_t *)form.p, form.n, &c) < 0)
        return digest_of(form.p, form.n);
    h[0] = digest_of(c.method.p, c.method.n);
    h[1] = digest_of(c.path.p, c.path.n);
    h[2] = c.file.length > 0 ? digest_of(c.file.sha256, sizeof(c.file.sha256)) : digest_of(c.body.p, c.body.n);
    return digest_of(h, sizeof(h));
}

uint64_t submit_digest(struct slice bytes, bool is_call)
{
    return is_call ? submit_digest_of_call(bytes) : digest_of(bytes.p, bytes.n);
}

/* ---- what it carries ---- */

/* NULL: what it carries is of its queue's kind; else a sentence of ours. */
static const char *kind_wrong(const char *endpoint, const struct task_body *b)
{
    bool call = (b->has & CALL_MEMBERS) != 0;

    if (call && (b->has & WITH(PAYLOAD)) != 0)
        return "payload, and a call (path, method, headers, body), exclude each other";
    if ((b->has & WITH(PAYLOAD_BASE64)) != 0 && endpoint != NULL && endpoint[0] != '\0')
        return "payload_base64 is for workers; the tasks of this queue are calls to its endpoint: body_base64";
    if (call && endpoint != NULL && endpoint[0] == '\0')
        return "path, method, headers and body are for queues with an endpoint; this one has none: "
               "payload";
    if ((call || (endpoint != NULL && endpoint[0] != '\0')) && (b->has & WITH(PATH)) == 0)
        return "path is missing: the tasks of this queue are calls to its endpoint";
    return NULL;
}

/* NULL: b->payload is in its form. */
static const char *pack_bytes(struct buf *form, struct task_body *b, size_t *body_n)
{
    int64_t n = b->raw ? (int64_t)b->payload_base64.n : callback_base64(b->payload_base64);

    if (n < 0)
        return "payload_base64 must be base64, with padding";
    if ((b->has & (WITH(PAYLOAD) | CALL_MEMBERS)) != 0)
        return "payload, payload_base64, and a call (path, method, headers, body), exclude each other";
    payload_pack(form, (struct call_span){ b->content_type.p, b->content_type.n },
                 (struct call_span){ b->payload_base64.p, (size_t)n });
    b->payload = (struct slice){ (char *)form->data, form->len };
    *body_n = (size_t)n;
    return NULL;
}

const char *submit_carries(struct buf *form, const char *endpoint, struct task_body *b,
                           struct slice *bytes, size_t *body_n, struct body_error *e)
{
    const char *why = kind_wrong(endpoint, b);

    *body_n = b->payload.n;
    *bytes = b->payload;
    if (why != NULL)
        return why;
    if ((b->has & WITH(DELAY)) != 0 && (b->has & WITH(AT)) != 0)
        return "delay and at exclude each other";
    if (!task_body_keeps_or_drops(b))
        return "result must be \"keep\" or \"drop\"";
    if ((b->has & WITH(CONTENT_TYPE)) != 0 && (b->has & WITH(PAYLOAD_BASE64)) == 0)
        return "content_type is for payload_base64: a payload is JSON";
    buf_reset(form);
    if ((b->has & WITH(PAYLOAD_BASE64)) != 0) {
        why = pack_bytes(form, b, body_n);
        if (why != NULL)
            return why;
        *bytes = b->payload;
    } else if ((b->has & CALL_MEMBERS) != 0) {
        if (!callback_of_body(form, b, body_n, e))
            return e->text;
        *bytes = (struct slice){ (char *)form->data, form->len };
    }
    return NULL;
}

/* ---- the row that it becomes ---- */

struct task_put submit_put(struct arena *mem, const struct task_body *b, struct slice bytes)
{
    const char *slash = b->key.n > 0 ? memchr(b->key.p, '/', b->key.n) : NULL;
    size_t first = slash != NULL ? (size_t)(slash - b->key.p) : b->key.n;

    return (struct task_put){
        .queue = "", .name = "", .group = "", .key1 = arena_strndup(mem, b->key.p, first),
        .key2 = slash != NULL ? arena_strndup(mem, slash + 1, b->key.n - first - 1) : "",
        .priority = (uint8_t)b->priority, .order = b->order, .delay_ms = b->delay,
        .own = task_body_own(b, arena_strndup(mem, b->labels.p, b->labels.n)),
        .body = { (uint32_t)bytes.n, (const uint8_t *)bytes.p },
        .unique = { (uint32_t)b->unique.key.n, (const uint8_t *)b->unique.key.p },
        .unique_while = (uint8_t)b->unique.lasts,
        .on_conflict = (uint8_t)b->unique.on_conflict,
    };
}

/* ---- its units ---- */

/* Units that the body asks for. NULL, or why that is not known. */
static const char *asked_units(const struct cost_rule *r, struct slice body, uint64_t length, uint64_t *asked)
{
    enum body_at at = AT_NOTHING;
    struct slice raw;

    *asked = 0;
    if (r->pointer[0] != '\0')
        at = body_at(body, length, r->pointer, &raw);
    if (at == AT_TWICE)
        return "the member that says how many units the call asks for is there twice";
    if (at == AT_DEEP)
        return "the JSON is nested too deeply to read how many units the call asks for";
    if (at == AT_FOUND && !cost_number(raw.p, raw.n, asked))
        *asked = 0;
    return NULL;
}

const char *submit_units(const struct cost_rule *r, struct slice body, uint64_t length, int64_t *cost)
{
    uint64_t asked = 0;
    const char *why = *cost == 0 ? asked_units(r, body, length, &asked) : NULL;

    if (why != NULL)
        return why;
    if (length == BODY_UNKNOWN && r->per_byte != 0)
        return "the endpoint counts bytes: a chunked body of more than 262144 bytes needs a Content-Length";
    *cost = (int64_t)cost_estimate(r, (uint64_t)*cost, length, asked);
    return NULL;
}

/* ---- schedules ---- */

bool schedule_name_ok(struct slice name)
{
    return name.n > 0 && name.n <= SCHEDULE_NAME_MAX && char_is_of(name.p[0], "") && text_is_of(name.p, name.n, "_-.");
}

enum { CRON, EVERY, ZONE, JITTER, OVERLAP, CATCH_UP, CATCH_UP_MOST, FROM, UNTIL, PAUSED, TASK };

/* Says of what is wrong in the task that it is there. Always false. */
static bool within_task(struct body_error *e)
{
    char text[sizeof(e->text)];

    if (e->text[0] == '\0')
        return false;
    snprintf(text, sizeof(text), "task: %.*s", (int)sizeof(text) - 7, e->text);
    memcpy(e->text, text, sizeof(text));
    return false;
}

/* Reads with the bound that schedule_body_read() has noted. */
static bool read_task(const struct json_member *m, struct json_scan *s, void *to)
{
    struct schedule_body *b = container_of(to, struct schedule_body, task);

    (void)m;
    if (json_scan_peek(s) == '{')
        return task_body_read(&b->task, s, b->may, b->e) || within_task(b->e);
    (void)json_scan_value(s, &(struct slice){ 0 });
    return false;
}

static const char *const overlaps[OVERLAP_NKINDS] = { "allow", "skip", "cancel_old" };
static const char *const catch_ups[CATCH_UP_NKINDS] = { "none", "last", "all" };

#define M(name, member, least, most, how, words, must) \
    { name, offsetof(struct schedule_body, member), least, most, how, RANGE_UNSAID, words, must }

static const struct json_member members[] = {
    [CRON] = M("cron", cron, 1, CRON_TEXT_MAX, json_text, NULL,
               " must be a string of five fields, or @daily and its like"),
    [EVERY] = M("every", every, RECUR_EVERY_MIN, RECUR_EVERY_MAX, json_span, NULL,
                " must be a time such as \"15m\", of 1 second to 400 days"),
    [ZONE] = M("zone", zone, 1, ZONE_NAME_MAX, json_visible, NULL,
               " must be a time zone's name, such as \"Europe/Berlin\""),
    [JITTER] = M("jitter", jitter, 0, 86400000, json_span, NULL,
                 " must be a time such as \"30s\", of a day at most"),
    [OVERLAP] = M("overlap", overlap, 0, OVERLAP_NKINDS, json_word, overlaps,
                  " must be \"allow\", \"skip\" or \"cancel_old\""),
    [CATCH_UP] = M("catch_up", catch_up, 0, CATCH_UP_NKINDS, json_word, catch_ups,
                   " must be \"none\", \"last\" or \"all\""),
    [CATCH_UP_MOST] = M("catch_up_max", catch_up_max, 1, RECUR_MAKE_UP, json_whole, NULL,
                        " must be a whole number, 1 to 100"),
    [FROM] = M("from", from, 1, RECUR_AT_MAX, json_moment, NULL, " must be a moment in Unix seconds"),
    [UNTIL] = M("until", until, 1, RECUR_AT_MAX, json_moment, NULL, " must be a moment in Unix seconds"),
    [PAUSED] = M("paused", paused, 0, 0, json_truth, NULL, " must be true or false"),
    [TASK] = M("task", task, 0, 0, read_task, NULL, " must be an object"),
};

static void copy_slice(char *to, struct slice from)
{
    *text_put(to, from.p, from.n) = '\0';
}

static bool wrong(struct body_error *e, const char *why)
{
    return json_say(e, why, (struct slice){ 0 }, "");
}

/* Checks what only all members together say. */
static const char *whole_wrong(const struct schedule_body *b, uint64_t has, struct body_error *e)
{
    struct recur r = { .every_ms = b->every, .from_ms = b->from, .until_ms = b->until };
    char text[CRON_TEXT_MAX + 1], zone[ZONE_NAME_MAX + 1];
    struct cron_error ce;

    if (((has >> CRON ^ has >> EVERY) & 1) == 0)
        return "a schedule needs cron or every, and not both";
    if ((has >> TASK & 1) == 0)
        return "task is missing";
    if ((has >> ZONE & 1) != 0 && (has >> CRON & 1) == 0)
        return "a zone is for cron; every counts in UTC";
    copy_slice(zone, b->zone);
    if (b->zone.n > 0 && !zone_name_ok(zone))
        return "zone must be a time zone's name, such as \"Europe/Berlin\"";
    copy_slice(text, b->cron);
    if (b->cron.n == 0 || cron_read(&r.cron, text, &ce))
        return recur_wrong(&r);
    snprintf(e->text, sizeof(e->text), "cron: %s", ce.text);
    return e->text;
}

bool schedule_body_read(struct schedule_body *b, struct slice text, uint64_t may,
                        struct body_error *e)
{
    uint64_t has = 0;
    const char *why;

    *b = (struct schedule_body){ .catch_up_max = SCHEDULE_CATCH_UP_MAX, .may = may, .e = e };
    if (!json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, text, b, &has, e))
        return false;
    why = whole_wrong(b, has, e);
    return why == NULL || why == e->text ? why == NULL : wrong(e, why);
}

void schedule_numbers(struct msg_task_schedule *m, const struct schedule_body *b)
{
    m->every_ms = b->every;
    m->jitter_ms = b->jitter;
    m->overlap = (uint8_t)b->overlap;
    m->catch_up = (uint8_t)b->catch_up;
    m->catch_up_max = (uint32_t)b->catch_up_max;
    m->from_ms = b->from;
    m->until_ms = b->until;
    m->paused = b->paused;
}

uint64_t schedule_version(const void *text, size_t n)
{
    return (submit_digest((struct slice){ (char *)(uintptr_t)text, n }, false) >> 16) + SCHEDULE_ABSENT + 1;
}

/* ---- forms of calls --------------------------------------------------------------------- */

static struct call_span span(struct slice s)
{
    return (struct call_span){ s.p, s.n };
}

static struct call_span literal(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

static bool begin(struct buf *form, struct call_span method, struct slice path, struct body_error *e)
{
    const struct slice none = { 0 };
    const char *wrong = call_path_wrong(path.p, path.n);

    if (!call_method_ok(method.p, method.n))
        return json_say(e, "method: must be capital letters, and neither CONNECT nor TRACE", none, "");
    if (wrong != NULL)
        return json_say(e, "path ", none, wrong);
    call_pack_begin(form, method, span(path));
    return true;
}

struct head { /* head of the form that is made */
    struct buf *form;
    unsigned n;
    size_t bytes;
    bool typed; /* a Content-Type is there */
};

static bool is_name(struct slice name, const char *lower)
{
    return name.n == strlen(lower) && strncasecmp(name.p, lower, name.n) == 0;
}

static bool add(struct head *h, struct slice name, struct slice value, struct body_error *e)
{
    const char *wrong = call_header_wrong(name.p, name.n, value.p, value.n);

    if (wrong != NULL) {
        json_say(e, "headers: ", name, " ");
        *text_str(e->text + strlen(e->text), wrong) = '\0';
        return false;
    }
    h->bytes += name.n + value.n;
    if (++h->n > CALL_HEADERS_MAX || h->bytes > CALL_HEAD_MAX)
        return json_say(e, "headers: there are too many", (struct slice){ 0 }, "");
    h->typed = h->typed || is_name(name, "content-type");
    call_pack_header(h->form, span(name), span(value));
    return true;
}

/* Also for a target to which _ and - are one. */
static bool is_idem(struct slice name)
{
    static const char idem[] = "idempotency-key";

    return name.n == sizeof(idem) - 1 && call_header_is(name.p, idem, name.n);
}

static bool add_all(struct head *h, const struct task_body *b, struct body_error *e)
{
    const struct slice none = { 0 };
    struct slice name, value;
    struct json_scan s;
    bool first = true;

    json_scan_init(&s, b->headers);
    if (json_scan_peek(&s) != '{' || !json_scan_enter(&s, '{'))
        return json_say(e, "headers must be an object of strings", none, "");
    while (json_scan_member(&s, &first, &name)) {
        if (json_scan_peek(&s) != '"' || !json_scan_text(&s, &value))
            return json_say(e, "headers: ", name, " must be a string");
        if (b->is_tenants && is_idem(name))
            return json_say(e, "headers: ", name, " is not passed on for a tenant; say idempotency_key");
        if (!add(h, name, value, e))
            return false;
    }
    return s.why == NULL || json_say(e, s.why, none, "");
}

int64_t callback_base64(struct slice text)
{
    const char *end;
    size_t n;

    if (text.n == 0)
        return 0;
    if (sodium_base642bin((uint8_t *)text.p, text.n, text.p, text.n, NULL, &n, &end,
                          sodium_base64_VARIANT_ORIGINAL) < 0 || end != text.p + text.n)
        return -1;
    return (int64_t)n;
}

static unsigned bodies(const struct task_body *b)
{
    return (unsigned)__builtin_popcount(b->has & (WITH(BODY) | WITH(BODY_JSON) | WITH(BODY_BASE64)));
}

bool callback_of_body(struct buf *form, const struct task_body *b, size_t *body_n,
                      struct body_error *e)
{
    const struct slice none = { 0 };
    struct head h = { .form = form };
    struct slice body = b->body_json.n > 0 ? b->body_json : b->body;
    int64_t n;

    *e = (struct body_error){ 0 };
    if (bodies(b) > 1)
        return json_say(e, "body, body_json and body_base64 exclude each other", none, "");
    if (!begin(form, b->method.n > 0 ? span(b->method) : literal("POST"), b->path, e) ||
        (b->headers.n > 0 && !add_all(&h, b, e)))
        return false;
    if (b->body_json.n > 0 && !h.typed &&
        !add(&h, slice_of("content-type"), slice_of("application/json"), e))
        return false;
    if ((b->has & WITH(BODY_BASE64)) != 0) {
        n = callback_base64(b->body_base64);
        if (n < 0)
            return json_say(e, "body_base64 must be base64, with padding", none, "");
        body = (struct slice){ b->body_base64.p, (size_t)n };
    }
    if (body.n > 0 && is_name(b->method, "head"))
        return json_say(e, "method: a HEAD has no body", none, "");
    *body_n = body.n;
    call_pack_body(form, span(body));
    return true;
}

static bool is_one_of(struct slice name, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_name(name, v[i]))
            return true;
    return false;
}

/* Said to us, or what an answer that is kept cannot follow. Conditions of a change are the target's:
 * without them a PUT would write over what it was to spare. */
static bool is_for_us(const struct http_req *q, struct slice name, unsigned drops)
{
    static const char *const v[] = { "prefer", "accept-encoding", "range", "if-range" };
    static const char *const of_reads[] = { "if-none-match", "if-match", "if-modified-since",
                                            "if-unmodified-since" };
    bool reads = q->method == HTTP_GET || q->method == HTTP_HEAD;

    return is_one_of(name, v, ARRAY_LEN(v)) ||
           (reads && is_one_of(name, of_reads, ARRAY_LEN(of_reads))) ||
           ((drops & CALLBACK_NO_AUTH) != 0 && is_name(name, "authorization")) ||
           ((drops & CALLBACK_NO_IDEM) != 0 && is_idem(name));
}

static struct call_span method_of(const struct http_req *q)
{
    static const char *const words[] = {
        [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD", [HTTP_POST] = "POST", [HTTP_PUT] = "PUT",
        [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH", [HTTP_OPTIONS] = "OPTIONS",
        [HTTP_OTHER] = "",
    };

    return literal(words[q->method]);
}

bool callback_of_request(struct buf *form, const struct http_req *q, struct slice path, unsigned drops,
                         struct body_error *e)
{
    struct head h = { .form = form };
    struct slice rest = q->fields, name, value;

    *e = (struct body_error){ 0 };
    if (!begin(form, method_of(q), path, e))
        return false;
    while (http_next_field(&rest, &name, &value))
        if (!call_header_refused(name.p, name.n) && !is_for_us(q, name, drops) &&
            !http_connection_names(q->fields, name) && !add(&h, name, value, e))
            return false;
    if (q->in_pieces && q->method == HTTP_HEAD)
        return json_say(e, "method: a HEAD has no body", (struct slice){ 0 }, "");
    if (q->in_pieces)
        call_pack_file(form);
    else
        call_pack_body(form, span(q->body));
    return true;
}
