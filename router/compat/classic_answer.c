/* classic_answer.c: see classic_answer.h. */
#include "router/compat/classic_answer.h"

#include <string.h>

#include "common/base/text.h"
#include "common/http/problem.h"
#include "router/api/json_out.h"

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
