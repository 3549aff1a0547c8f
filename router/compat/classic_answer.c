/* classic_answer.c: see classic_answer.h. */
#include "router/compat/classic_answer.h"

#include <string.h>

#include "common/base/text.h"
#include "common/http/problem.h"
#include "router/task_api/json_scan.h"

#define ADD(b, lit) buf_append(b, lit, sizeof(lit) - 1)

/* Members of our own answers that are looked at. */
#define OURS(X)                                                                              \
    X(kind) X(task) X(state) X(reason) X(position) X(eta_s) X(entered_at) X(started_at)      \
    X(released_at) X(ended_at) X(pass) X(pass_expires_at) X(stopping) X(code) X(detail)

struct ours { /* JSON, as it stands; n 0: not there */
#define X(name) struct slice name;
    OURS(X)
#undef X
};

static const struct {
    const char *state, *reason; /* ours, as JSON; reason NULL: any */
    const char *status, *error, *message; /* theirs; error NULL: it has not failed */
} words[] = {
    { "\"scheduled\"", NULL, "pending", NULL, NULL },
    { "\"waiting\"", NULL, "pending", NULL, NULL },
    { "\"retrying\"", NULL, "pending", NULL, NULL },
    { "\"running\"", NULL, "processing", NULL, NULL },
    { "\"admitted\"", NULL, "processing", NULL, NULL },
    { "\"succeeded\"", NULL, "completed", NULL, NULL },
    { "\"finished\"", "\"finished\"", "completed", NULL, NULL },
    { "\"finished\"", "\"expired\"", "completed", NULL, NULL },
    { "\"finished\"", "\"left\"", "failed", "cancelled", "it was cancelled" },
    { "\"finished\"", "\"no_show\"", "failed", "no_show", "admitted, but never polled in time" },
    { "\"finished\"", NULL, "failed", "lost", "its place is gone" },
    { "\"dead\"", NULL, "failed", "dead", "the target did not answer well in any attempt" },
    { "\"expired\"", NULL, "failed", "expired", "its time was over before it was done" },
    { "\"cancelled\"", NULL, "failed", "cancelled", "it was cancelled" },
    { "", NULL, "pending", NULL, NULL }, /* not told; the last one is that of all others */
};

static bool is(struct slice s, const char *json)
{
    return s.n == strlen(json) && memcmp(s.p, json, s.n) == 0;
}

static bool read_ours(struct ours *o, const struct buf *body)
{
    static const struct {
        const char *name;
        size_t offset;
    } table[] = {
#define X(name) { #name, offsetof(struct ours, name) },
        OURS(X)
#undef X
    };
    struct slice name, value;
    struct json_scan s;
    bool first = true;

    *o = (struct ours){ 0 };
    json_scan_init(&s, (struct slice){ (char *)body->data, body->len });
    if (json_scan_peek(&s) != '{' || !json_scan_enter(&s, '{'))
        return false;
    /* A result that is nested too deeply for us ends it: we need nothing behind it. */
    while (json_scan_member(&s, &first, &name) && json_scan_value(&s, &value))
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
            if (is(name, table[i].name))
                *(struct slice *)(void *)((char *)o + table[i].offset) = value;
    return true;
}

/* ---- theirs ------------------------------------------------------------------------------ */

/* name: with its comma, quotes and colon. */
static void add(struct buf *b, const char *name, struct slice json)
{
    buf_str(b, name);
    if (json.n > 0)
        buf_append(b, json.p, json.n);
    else
        ADD(b, "\"\"");
}

/* Whole number of ours: "12.345" is 12. -1: null, or not there. */
static int64_t whole(struct slice json)
{
    int64_t v = 0;

    for (size_t i = 0; i < json.n && i < 18 && json.p[i] >= '0' && json.p[i] <= '9'; i++)
        v = v * 10 + (json.p[i] - '0');
    return json.n > 0 && json.p[0] >= '0' && json.p[0] <= '9' ? v : -1;
}

/* A string; "": it has not happened. */
static void add_time(struct buf *b, const char *name, int64_t unix_s, const struct classic_clock *c)
{
    char text[CLASSIC_TIME_MAX];

    buf_str(b, name);
    json_utf8(b, text, unix_s < 0 ? 0 : c->tell(text, c->layout, unix_s));
}

/* Number of those before it: our places begin with 1. -1: not known; a number in any case. */
static void add_before(struct buf *b, const struct ours *o)
{
    int64_t place = whole(o->position);

    buf_str(b, ",\"wait_num\":");
    buf_i64(b, place > 0 ? place - 1 : -1);
    buf_str(b, ",\"wait_time\":");
    buf_i64(b, whole(o->eta_s));
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
static void add_result(struct buf *b, const struct ours *o, struct slice bytes)
{
    struct buf text;

    buf_init(&text);
    if (o->pass.n > 0) {
        add(&text, "{\"pass\":", o->pass);
        add(&text, ",\"pass_expires_at\":", o->pass_expires_at);
        ADD(&text, "}");
        bytes = (struct slice){ (char *)text.data, text.len };
    }
    buf_str(b, ",\"task_result\":");
    add_bytes(b, bytes);
    b->failed = b->failed || text.failed;
    buf_fini(&text);
}

static void add_error(struct buf *b, const char *code, const char *message)
{
    buf_str(b, ",\"task_error\":{\"code\":\"");
    buf_str(b, code);
    buf_str(b, "\",\"message\":\"");
    buf_str(b, message);
    ADD(b, "\"}");
}

/* bytes: of its result; fresh: it was made just now. */
static void task(struct buf *b, const struct ours *o, struct slice bytes, bool fresh,
                 const struct classic_clock *c)
{
    bool permit = is(o->kind, "\"permit\"");
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(words) &&
           (!is(o->state, words[i].state) ||
            (words[i].reason != NULL && !is(o->reason, words[i].reason))))
        i++;
    add(b, "{\"task_id\":", o->task);
    buf_str(b, permit ? ",\"task_type\":\"online\"" : ",\"task_type\":\"offline\"");
    buf_str(b, ",\"task_status\":\"");
    buf_str(b, words[i].status);
    /* A ticket does not keep when it joined. */
    add_time(b, "\",\"created_at\":", permit && fresh ? c->now_s : whole(o->entered_at), c);
    if (strcmp(words[i].status, "pending") == 0)
        add_before(b, o);
    else
        ADD(b, ",\"wait_num\":0,\"wait_time\":0");
    add_result(b, o, bytes);
    add_time(b, ",\"started_at\":", whole(o->released_at.n > 0 ? o->released_at : o->started_at), c);
    add_time(b, ",\"ended_at\":", whole(o->ended_at), c);
    if (o->stopping.n > 0)
        add(b, ",\"stopping\":", o->stopping);
    if (words[i].error != NULL)
        add_error(b, words[i].error, words[i].message);
    ADD(b, "}");
}

void classic_answer(struct api_ans *a, const struct classic_clock *c)
{
    struct buf was = a->body;
    struct ours o;

    if (a->status == 204) { /* a cancel of what has gone */
        buf_str(&a->body, "{\"task_id\":\"\",\"task_status\":\"failed\"");
        add_error(&a->body, "task_gone", "it was over, and is not kept any more");
        ADD(&a->body, "}");
        a->status = 200;
        a->type = API_JSON;
        return;
    }
    if (was.len == 0 || !read_ours(&o, &was))
        return;
    buf_init(&a->body);
    if (a->status >= 400) {
        add(&a->body, "{\"code\":", o.code);
        add(&a->body, ",\"message\":", o.detail);
        ADD(&a->body, "}");
    } else {
        task(&a->body, &o, a->result, a->status == 201, c);
        a->status = 200;
    }
    a->type = API_JSON;
    buf_fini(&was);
}
