/* progress.c: see progress.h. */
#include "router/task_requests/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/json.h"
#include "common/json/json_point.h"
#include "router/api/json_out.h"
#include "router/state/router.h"

#define SLICE_MAX 32768u

struct collected {
    uint32_t status;
    char type[REPLY_TYPE_MAX + 1];
    struct buf body;
    bool cut;
};

/* ---- who wants it -------------------------------------------------------------------------- */

static bool is_type(const char *type, const char *word)
{
    size_t n = strlen(word);

    return type != NULL && strncasecmp(type, word, n) == 0 && strchr("; \t", type[n]) != NULL;
}

static bool accepts_events(const struct http_req *q)
{
    static const char word[] = "text/event-stream";
    struct slice rest = q->fields, list, item;

    while (http_next(&rest, "accept", &list))
        while (http_item_next(&list, &item))
            if (item.n >= sizeof(word) - 1 && strncasecmp(item.p, word, sizeof(word) - 1) == 0)
                return true;
    return false;
}

static bool asks_for_stream(const struct http_req *q)
{
    struct slice value;

    return q->json && json_point(q->body, (struct slice){ (char *)(uintptr_t)"/stream", 7 }, &value) == JSON_POINT_FOUND &&
           slice_is(value, "true");
}

const char *progress_of(const struct http_req *q, uint8_t *how)
{
    struct slice v;

    *how = PROGRESS_NONE;
    if (http_find(q, "segq-progress", &v) == 0 || slice_is(v, "0"))
        return NULL;
    if (!slice_is(v, "1") && !slice_is(v, "events"))
        return "segq-progress must be 1 (comments), events, or 0";
    if (accepts_events(q) || asks_for_stream(q))
        *how = slice_is(v, "1") ? PROGRESS_COMMENTS : PROGRESS_EVENTS;
    return NULL;
}

static void give(struct task_call *c);

/* ---- while it waits ------------------------------------------------------------------------ */

/* False: it cannot be begun: the client has gone, or there is no memory. */
static bool begin(struct task_call *c)
{
    struct router *r = c->t->r;
    struct task_name name;

    task_token_write(c->v[0].part, c->v[0].no, &r->keys.token, name.text);
    task_answer_progress(&r->ans, &name, c->v[0].part, c->v[0].no);
    if (!router_answer_passing(r, c->req, HTTPD_UNSIZED)) {
        c->req = NULL; /* answered already */
        c->silent = true;
        return false;
    }
    c->ends = give;
    c->t->counts.progresses++;
    return true;
}

static void send_to(struct task_call *c, const struct buf *b)
{
    if (b->failed || b->len == 0)
        return;
    c->said_ms = ev_now(c->t->r->ev);
    c->untaken = true;
    httpd_send(c->req, (const char *)b->data, b->len);
}

static void put_comment(struct buf *b, const struct place_row *r)
{
    ADD(b, ": segq ");
    if (r->state == TASK_WAITING) {
        out_u64(b, "place=", r->position);
        if (r->capped)
            ADD(b, "+");
    } else {
        buf_str(b, task_state_word((enum task_state)r->state));
    }
    if (r->eta_ms >= 0 && r->state != TASK_RUNNING)
        out_u64(b, " eta_s=", ((uint64_t)r->eta_ms + 999) / 1000);
    ADD(b, "\n\n");
}

static void put_event(struct buf *b, const struct place_row *r)
{
    ADD(b, "event: segq.progress\ndata: {\"state\":\"");
    buf_str(b, task_state_word((enum task_state)r->state));
    ADD(b, "\"");
    if (r->state == TASK_WAITING)
        out_u64(b, ",\"position\":", r->position);
    if (r->capped)
        ADD(b, ",\"position_capped\":true");
    task_add_ahead(b, r->ahead_of_priority);
    task_add_eta(b, r->eta, r->eta_ms);
    ADD(b, "}\n\n");
}

void progress_hear(struct task_call *c, const struct place_row *r)
{
    struct buf b;

    if (r->state == TASK_FREE || r->state >= TASK_NSTATES || c->progress == PROGRESS_NONE || c->req == NULL || httpd_is_closing(c->req) || c->untaken)
        return;
    if (c->ends == NULL && !begin(c))
        return;
    buf_init(&b);
    (c->progress == PROGRESS_EVENTS ? put_event : put_comment)(&b, r);
    send_to(c, &b);
    buf_fini(&b);
}

void progress_tick(struct task_call *c, msec_t now)
{
    struct buf b;

    if (c->ends == NULL || c->untaken || c->req == NULL || now - c->said_ms < PROGRESS_QUIET_MS)
        return;
    buf_init(&b);
    ADD(&b, ": segq\n\n");
    send_to(c, &b);
    buf_fini(&b);
}

void progress_taken(struct task_call *c)
{
    c->untaken = false;
}

/* ---- its answer ---------------------------------------------------------------------------- */

bool progress_fits(uint32_t status, const char *type)
{
    return status / 100 == 2 && is_type(type, "text/event-stream");
}

static void send_all(struct httpd_req *req, const uint8_t *p, size_t n)
{
    for (size_t at = 0; at < n; at += SLICE_MAX)
        httpd_send(req, (const char *)p + at, u64_min(n - at, SLICE_MAX));
}

/* The member `error` of its JSON, as clients of language models expect it; or one of ours. */
static void put_error(struct buf *b, uint32_t status, struct slice json)
{
    struct slice error;

    ADD(b, ",\"error\":");
    if (json.n > 0 && json_point(json, (struct slice){ (char *)(uintptr_t)"/error", 6 }, &error) == JSON_POINT_FOUND &&
        error.p[0] == '{') {
        task_add_line(b, error);
        return;
    }
    ADD(b, "{\"message\":\"");
    if (status == 202)
        ADD(b, "there is no answer in the time for which the request waits; its task goes on");
    else if (status / 100 == 2)
        ADD(b, "the answer is no event stream");
    else
        out_u64(b, "the answer is ", status);
    ADD(b, "\",\"type\":\"");
    buf_str(b, status == 202 ? "wait_over" : "endpoint_answer");
    out_u64(b, "\",\"param\":null,\"code\":\"", status);
    ADD(b, "\"}");
}

static void say_answer(struct httpd_req *req, uint32_t status, const char *type, struct slice body, bool cut)
{
    static const char none[] = "event: error\ndata: {\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\"}}\n\n";
    bool json = (is_type(type, "application/json") || is_type(type, "application/problem+json")) && !cut && json_scan_is_whole(body);
    struct buf b;

    buf_init(&b);
    out_u64(&b, "event: error\ndata: {\"status\":", status);
    out_text(&b, ",\"content_type\":", type != NULL ? type : "");
    put_error(&b, status, json ? body : (struct slice){ 0 });
    if (cut)
        ADD(&b, ",\"truncated\":true");
    ADD(&b, ",\"body\":");
    if (json)
        task_add_line(&b, body);
    else
        json_utf8(&b, body.p, body.n);
    ADD(&b, "}\n\n");
    if (b.failed)
        httpd_send(req, none, sizeof(none) - 1);
    else
        send_all(req, b.data, b.len);
    buf_fini(&b);
}

static void give(struct task_call *c)
{
    struct api_ans *a = &c->t->r->ans;
    const char *headers = api_headers(a);
    bool lost = headers == NULL || a->body.failed;
    bool cut = lost || strstr(headers, "segq-truncated: true") != NULL;
    struct slice body = { (char *)a->body.data, lost ? 0 : a->body.len };

    if (progress_fits((uint32_t)a->status, a->type) && !cut)
        send_all(c->req, a->body.data, a->body.len);
    else
        say_answer(c->req, (uint32_t)a->status, a->type, body, cut);
    httpd_end(c->req);
    api_ans_reset(a);
}

/* ---- an answer that comes, and does not fit ------------------------------------------------- */

struct collected *collected_new(uint32_t status, const char *type)
{
    struct collected *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->status = status;
    snprintf(c->type, sizeof(c->type), "%s", type);
    buf_init(&c->body);
    return c;
}

void collected_add(struct collected *c, const void *p, size_t n)
{
    size_t room = PROGRESS_BODY_MAX - c->body.len;

    c->cut |= n > room;
    buf_append(&c->body, p, u64_min(n, room));
}

void collected_say(struct collected *c, struct httpd_req *req)
{
    bool lost = c->body.failed;
    struct slice body = { (char *)c->body.data, lost ? 0 : c->body.len };

    say_answer(req, c->status, c->type, body, c->cut || lost);
}

void collected_free(struct collected *c)
{
    if (c == NULL)
        return;
    buf_fini(&c->body);
    free(c);
}
