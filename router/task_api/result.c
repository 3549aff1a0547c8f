/* result.c: see result.h. */
#include "router/task_api/result.h"

#include <string.h>
#include <strings.h>

#include "common/base/json.h"
#include "common/json/json_scan.h"
#include "common/task/call.h"
#include "common/task/state.h"
#include "common/task/url.h"
#include "router/api/json_out.h"

/* ---- members of a look ---- */

static bool is_longer(const struct msg_task_get_ans *m)
{
    return m->result_length > m->result.n;
}

static bool is_cut(const struct msg_task_get_ans *m)
{
    return is_longer(m) && !m->result_whole;
}

/* "application/json; charset=utf-8", "application/problem+json" */
static bool says_json(const char *type)
{
    size_t n = strcspn(type, "; ");

    return (n == 16 && strncasecmp(type, "application/json", n) == 0) ||
           (n > 5 && strncasecmp(type + n - 5, "+json", 5) == 0);
}

/* True: may stand in an answer of ours: a worker's is one JSON value, a target may say what it likes. */
static bool is_json(const struct msg_task_get_ans *m)
{
    struct json_scan s;
    struct slice raw;

    if (is_longer(m) || m->status == 0)
        return !is_longer(m);
    json_scan_init(&s, (struct slice){ (char *)(uintptr_t)m->result.p, m->result.n });
    return says_json(m->content_type) && json_scan_value(&s, &raw) && json_scan_ends(&s);
}

void result_add(struct buf *b, const struct msg_task_get_ans *m)
{
    if (is_json(m)) {
        ADD(b, ",\"result\":");
        buf_append(b, m->result.p, m->result.n);
    }
    out_u64(b, ",\"result_length\":", m->result_length);
    ADD(b, ",\"result_sha256\":\"");
    out_hex(b, m->result_sha256.p, m->result_sha256.n);
    buf_str(b, is_cut(m) ? "\",\"result_truncated\":true" : "\",\"result_truncated\":false");
}

void result_add_call(struct buf *b, const struct msg_task_get_ans *m, const char *endpoint)
{
    if (endpoint[0] == '\0')
        return;
    ADD(b, ",\"kind\":\"callback\",\"endpoint\":");
    json_ascii(b, endpoint, strlen(endpoint));
    if (m->status != 0)
        out_u64(b, ",\"status\":", m->status);
    if (m->content_type[0] == '\0')
        return;
    ADD(b, ",\"content_type\":");
    json_ascii(b, m->content_type, strlen(m->content_type));
}

/* ---- header fields of a target ---- */

static struct call_span fields_of(const struct msg_task_get_ans *m)
{
    struct call_span all = { (const char *)m->fields.p, m->fields.n };

    return reply_fields_ok(all) ? all : (struct call_span){ 0 };
}

static bool is(struct call_span name, const char *lower)
{
    return name.n == strlen(lower) && strncasecmp(name.p, lower, name.n) == 0;
}

bool passed_on_location(const struct msg_task_get_ans *m)
{
    struct call_span rest = fields_of(m), name, value;

    while (call_header_next(&rest, &name, &value))
        if (is(name, "location"))
            return true;
    return false;
}

static const struct call_span elsewhere;

/* Finds the part behind the endpoint's own path. */
static struct call_span below(const struct url *own, const char *p, size_t path_n)
{
    size_t n = strlen(own->path);

    if (path_n < n || memcmp(p, own->path, n) != 0 || (path_n > n && strchr("/?#", p[n]) == NULL))
        return elsewhere;
    return (struct call_span){ p + n, path_n - n };
}

static struct call_span behind_url(const struct url *own, struct call_span v)
{
    struct url u;
    size_t used;

    if (v.n > 0 && v.p[0] == '/' && (v.n == 1 || v.p[1] != '/'))
        return below(own, v.p, v.n);
    if (url_authority(&u, v.p, v.n, &used) != NULL || !url_same_host(own, &u))
        return elsewhere;
    return below(own, v.p + used, v.n - used);
}

static struct call_span behind_endpoint(const char *urls, struct call_span v)
{
    struct call_span tail = elsewhere;
    struct url own;

    while (tail.p == NULL && url_next(&own, &urls))
        tail = behind_url(&own, v);
    return tail;
}

static void put_location(struct buf *b, const struct passed_from *from, struct call_span value)
{
    struct call_span tail = behind_endpoint(from->url, value);

    if (tail.p == NULL) {
        buf_append(b, value.p, value.n);
        return;
    }
    buf_str(b, "/v1/call/");
    buf_str(b, from->endpoint);
    if (tail.n == 0 || tail.p[0] != '/')
        buf_byte(b, '/');
    buf_append(b, tail.p, tail.n);
}

void passed_on_fields(struct buf *headers, const struct msg_task_get_ans *m,
                      const struct passed_from *from, bool of_file)
{
    struct call_span rest = fields_of(m), name, value;

    while (call_header_next(&rest, &name, &value)) {
        if (of_file && is(name, "content-disposition"))
            continue;
        buf_append(headers, name.p, name.n);
        buf_str(headers, ": ");
        if (is(name, "location"))
            put_location(headers, from, value);
        else
            buf_append(headers, value.p, value.n);
        buf_str(headers, "\r\n");
    }
    if (m->fields_cut)
        buf_str(headers, "segq-headers-truncated: true\r\n");
}

/* ---- the bytes alone ---- */

static void result_headers(struct buf *b, const struct msg_task_get_ans *m)
{
    ADD(b, "segq-state: ");
    buf_str(b, task_state_word((enum task_state)m->state));
    out_u64(b, "\r\nsegq-status: ", m->status != 0 ? m->status : 200);
    ADD(b, "\r\n");
    if (m->result_length == 0)
        return;
    out_u64(b, "segq-length: ", m->result_length);
    ADD(b, "\r\nsegq-sha256: ");
    out_hex(b, m->result_sha256.p, m->result_sha256.n);
    buf_str(b, is_cut(m) ? "\r\nsegq-truncated: true\r\n" : "\r\n");
}

bool result_is_harmless(const struct msg_task_get_ans *m)
{
    const char *type = m->content_type;
    size_t n = strcspn(type, "; ");

    return says_json(type) || (n == 10 && strncasecmp(type, "text/plain", n) == 0);
}

static void result_lines(struct api_ans *a, const struct msg_task_get_ans *m)
{
    result_headers(&a->headers, m);
    if (m->status != 0)
        ADD(&a->headers, "Content-Security-Policy: sandbox; default-src 'none'\r\n");
}

void result_put(struct api_ans *a, const struct msg_task_get_ans *m)
{
    const char *type = m->status == 0 ? API_JSON : m->content_type;

    a->type = m->result.n == 0                     ? NULL
              : is_cut(m) || type[0] == '\0' ? "application/octet-stream"
                                                    : type;
    result_lines(a, m);
    buf_append(&a->body, m->result.p, m->result.n);
}

void result_begin(struct api_ans *a, const struct msg_task_get_ans *m)
{
    a->type = m->content_type[0] == '\0' ? "application/octet-stream" : m->content_type;
    result_lines(a, m);
}

bool result_is_there(const struct msg_task_get_ans *m)
{
    return m->state == TASK_SUCCEEDED || m->status != 0;
}

const char *result_not_passed_on(const struct msg_task_get_ans *m)
{
    if (m->state == TASK_CANCELLED || m->state == TASK_EXPIRED)
        return "the call was cancelled, or has waited for longer than it may; its task says more";
    if (m->status == 0)
        return "the endpoint has not answered; its task says more";
    if (m->status < 200 || m->status > 599 || (m->status / 100 == 3 && !passed_on_location(m)))
        return "the endpoint's answer is none that is passed on; its task says more";
    return NULL;
}
