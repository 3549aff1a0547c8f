/* answer.c: see answer.h. */
#include "router/tasks/answer.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/http/problem.h"
#include "common/task/eta.h"
#include "common/task/state.h"
#include "router/tasks/json_scan.h"

#define ADD(b, lit) buf_append(b, lit, sizeof(lit) - 1)

/* ---- members ---- */

static void add_state(struct buf *b, uint8_t state)
{
    if (state == TASK_FREE)
        return;
    assert(state < TASK_NSTATES);
    ADD(b, ",\"state\":\"");
    buf_str(b, task_state_word((enum task_state)state));
    ADD(b, "\"");
}

/* seconds.millis */
static void add_millis(struct buf *b, uint64_t ms)
{
    char t[DECIMAL_ROOM + 8];

    buf_append(b, t, (size_t)(text_millis(t, ms) - t));
}

/* ,"name":seconds.millis; name with its comma, quotes and colon. Nothing for 0. */
static void add_moment(struct buf *b, const char *name, int64_t ms)
{
    if (ms <= 0)
        return;
    buf_str(b, name);
    add_millis(b, (uint64_t)ms);
}

static void add_number(struct buf *b, const char *name, uint64_t v)
{
    buf_str(b, name);
    buf_u64(b, v);
}

static void add_text(struct buf *b, const char *name, const char *text)
{
    buf_str(b, name);
    json_ascii(b, text, strlen(text));
}

static void add_key(struct buf *b, const char *key1, const char *key2)
{
    char text[2 * TASK_NAME_MAX + 2], *w = text;
    size_t n1 = strlen(key1), n2 = strlen(key2);

    if (n1 == 0 || n1 > TASK_NAME_MAX || n2 > TASK_NAME_MAX)
        return;
    w = text_put(w, key1, n1);
    if (n2 > 0) {
        *w++ = '/';
        w = text_put(w, key2, n2);
    }
    ADD(b, ",\"key\":");
    json_ascii(b, text, (size_t)(w - text));
}

/* "task":"..." */
static void add_task(struct buf *b, const struct task_name *t)
{
    ADD(b, "\"task\":\"");
    buf_append(b, t->text, TASK_TOKEN_LEN);
    ADD(b, "\"");
}

static void open_task(struct buf *b, const struct task_name *t)
{
    ADD(b, "{");
    add_task(b, t);
}

static void ok(struct api_ans *a, int status)
{
    assert(a->body.len == 0 && status < 400); /* one answer at a time */
    a->status = status;
    a->type = API_JSON;
}

/* When to look at it again: what is far away is looked at rarely, what is near or not known soon. */
static uint32_t poll_after_ms(const struct msg_task_get_ans *m)
{
    int64_t ms = m->eta == TASK_ETA_UNSAID ? 0 : m->eta_ms < 0 ? 5000 : m->eta_ms;

    if (m->eta == TASK_ETA_PACE || m->eta == TASK_ETA_RATE)
        ms /= 4; /* an estimate */
    return (uint32_t)ms_min(ms_max(ms, 1000), 60000);
}

/* In whole seconds, rounded up. */
static void retry_after(struct api_ans *a, const struct msg_task_get_ans *m)
{
    ADD(&a->headers, "Retry-After: ");
    buf_u64(&a->headers, (poll_after_ms(m) + 999) / 1000);
    ADD(&a->headers, "\r\n");
}

/* ---- outcomes ---- */

#define FAILED(p, d) (struct task_outcome){ api_problem_status(API_##p), API_##p, d }

/* What is said of the same codes everywhere. */
static struct task_outcome common(int code)
{
    switch (code) {
    case CODE_INVALID:
        return FAILED(BAD_REQUEST, "a number is out of its range");
    case CODE_FULL:
        return FAILED(QUEUE_FULL, "there is no room for more tasks now");
    case ASK_LOST:
        return FAILED(QUEUE_UNAVAILABLE, "no answer came in time; it may have been done");
    case ASK_NOBODY:
        return FAILED(QUEUE_UNAVAILABLE, "no task node has this queue now; nothing was done");
    default:
        return FAILED(QUEUE_UNAVAILABLE, "nothing can be written now; ask again");
    }
}

struct task_outcome task_put_outcome(int code)
{
    switch (code) {
    case CODE_DONE:
        return (struct task_outcome){ .status = 201 };
    case CODE_SAME:
        return (struct task_outcome){ .status = 200 };
    case CODE_HELD:
        return FAILED(UNIQUE_CONFLICT, "another task has this unique key");
    case CODE_MISMATCH:
        return FAILED(IDEMPOTENCY_MISMATCH,
                      "this Idempotency-Key or name belongs to a task with another payload");
    case CODE_UNKNOWN:
        return FAILED(QUEUE_NOT_FOUND, "no pool has a queue of this name");
    case CODE_CONFLICT:
        return FAILED(CONFLICT, "the key and the name belong to different tasks");
    case ASK_OTHER_KIND:
        return FAILED(BAD_REQUEST, "path, method, headers and body are for queues with an endpoint, "
                                   "payload is for the others");
    default:
        return common(code);
    }
}

struct task_outcome task_take_outcome(int code)
{
    if (code == CODE_DONE)
        return (struct task_outcome){ .status = 200 };
    if (code == ASK_OTHER_KIND)
        return FAILED(QUEUE_HAS_ENDPOINT, "the tasks of this queue are calls to its endpoint, which "
                                          "we make ourselves: no worker takes them");
    return code == CODE_UNKNOWN ? FAILED(QUEUE_NOT_FOUND, "no pool has a queue of this name")
                                : common(code);
}

struct task_outcome task_token_outcome(int code)
{
    switch (code) {
    case CODE_DONE:
    case CODE_SAME:
        return (struct task_outcome){ .status = 200 };
    case CODE_UNKNOWN:
        return FAILED(TASK_GONE, "this task is over, and is not kept any more");
    case CODE_CONFLICT:
        return FAILED(CONFLICT, "the task is not in a state, or under a lease, that allows it");
    default:
        return common(code);
    }
}

/* ---- submissions, and what workers do ---- */

static void location(struct api_ans *a, const struct task_name *t)
{
    ADD(&a->headers, "Location: /v1/tasks/");
    buf_append(&a->headers, t->text, TASK_TOKEN_LEN);
    ADD(&a->headers, "\r\n");
}

void task_answer_put(struct api_ans *a, int status, const struct task_name *t, struct slice queue,
                     uint8_t state)
{
    ok(a, status);
    location(a, t);
    if (status == 202)
        ADD(&a->headers, "Retry-After: 1\r\n");
    open_task(&a->body, t);
    ADD(&a->body, ",\"queue\":\"");
    buf_append(&a->body, queue.p, queue.n);
    ADD(&a->body, "\"");
    add_state(&a->body, state);
    ADD(&a->body, "}");
}

/* What it is now, and until when. */
static void add_settled(struct buf *b, enum task_verb verb, const struct settled_row *row)
{
    static const char *const until[TASK_NVERBS] = {
        [VERB_ACK] = ",\"expires_at\":",
        [VERB_NACK] = ",\"retry_at\":",
        [VERB_EXTEND] = ",\"lease_expires_at\":",
    };

    add_state(b, row->state);
    add_moment(b, until[verb], row->until_ms);
    ADD(b, "}");
}

void task_answer_settled(struct api_ans *a, const struct task_name *t, enum task_verb verb,
                         const struct settled_row *row)
{
    ok(a, 200);
    open_task(&a->body, t);
    add_settled(&a->body, verb, row);
}

static void add_taken(struct buf *b, const struct taken_row *row, part_no part,
                      const struct token_key *k)
{
    struct task_name t;
    char lease[LEASE_TEXT_LEN];

    task_token_write(part, row->no, k, t.text);
    lease_write(row->lease, lease);
    open_task(b, &t);
    ADD(b, ",\"lease_id\":\"");
    buf_append(b, lease, sizeof(lease));
    add_number(b, "\",\"attempt\":", row->attempt);
    add_moment(b, ",\"lease_expires_at\":", row->until_ms);
    add_key(b, row->key1, row->key2);
    ADD(b, ",\"payload\":");
    if (row->body.n > 0)
        buf_append(b, row->body.p, row->body.n);
    else
        ADD(b, "null");
    ADD(b, "}");
}

void task_answer_taken(struct api_ans *a, const struct msg_task_take_ans *m, part_no part,
                       const struct token_key *k)
{
    ok(a, 200);
    ADD(&a->body, "{\"tasks\":[");
    for (uint32_t i = 0; i < m->n; i++) {
        if (i > 0)
            ADD(&a->body, ",");
        add_taken(&a->body, &m->v[i], part, k);
    }
    ADD(&a->body, "]}");
}

/* ---- one task ---- */

/* When its state ends by itself. */
static void add_until(struct buf *b, const struct msg_task_get_ans *m)
{
    static const char *const names[TASK_NSTATES] = {
        [TASK_SCHEDULED] = ",\"due_at\":",        [TASK_WAITING] = ",\"expires_at\":",
        [TASK_RUNNING] = ",\"lease_expires_at\":", [TASK_RETRYING] = ",\"retry_at\":",
        [TASK_SUCCEEDED] = ",\"expires_at\":",    [TASK_DEAD] = ",\"expires_at\":",
        [TASK_CANCELLED] = ",\"expires_at\":",    [TASK_EXPIRED] = ",\"expires_at\":",
    };

    if (names[m->state] != NULL)
        add_moment(b, names[m->state], m->until_ms);
}

/* "rate:tenant7": which limit of which key or queue. */
static void add_limit(struct buf *b, const struct msg_task_get_ans *m)
{
    char text[TASK_NAME_MAX + 20], *w = text;
    unsigned i = 0;

    while (i + 1 < CLOSED_BITS && (m->limited >> (i + 1)) != 0)
        i++; /* the one that lasts longest */
    w = text_str(w, closed_word(i));
    *w++ = ':';
    *text_str(w, m->limited_by) = '\0';
    add_text(b, ",\"limited_by\":", text);
}

/* ,"eta_s":12,"eta_reason":"pace" */
static void add_eta(struct buf *b, const struct msg_task_get_ans *m)
{
    static const char *const words[TASK_NETAS] = {
#define X(NAME, word) word,
        TASK_ETAS(X)
#undef X
    };

    if (m->eta == TASK_ETA_UNSAID || m->eta >= TASK_NETAS)
        return;
    ADD(b, ",\"eta_s\":");
    if (m->eta_ms < 0)
        ADD(b, "null");
    else
        buf_u64(b, ((uint64_t)m->eta_ms + 999) / 1000);
    add_text(b, ",\"eta_reason\":", words[m->eta]);
}

/* Where it stands, and what it waits for. */
static void add_place(struct buf *b, const struct msg_task_get_ans *m)
{
    if (m->position > 0)
        add_number(b, ",\"position\":", m->position);
    if (m->position_capped)
        ADD(b, ",\"position_capped\":true");
    if (m->state == TASK_WAITING)
        add_number(b, ",\"ahead_of_key\":", m->ahead_of_key);
    if (m->limited != 0) {
        add_limit(b, m);
        add_moment(b, ",\"limited_until\":", m->limited_until_ms);
    }
    add_eta(b, m);
}

/* ,"retry":{"min":1.000,"jitter":20}: of its back-off what it has of its own. */
static void add_retry(struct buf *b, const struct task_own *o)
{
    const struct {
        const char *name;
        uint64_t v;
        bool ms;
    } row[] = { { "\"min\":", o->retry_min_ms, true }, { "\"max\":", o->retry_max_ms, true },
                { "\"doublings\":", o->retry_doublings, false },
                { "\"jitter\":", o->retry_jitter, false } };
    const char *before = ",\"retry\":{";

    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        if (row[i].v == 0)
            continue;
        buf_str(b, before);
        buf_str(b, row[i].name);
        if (row[i].ms)
            add_millis(b, row[i].v - 1);
        else
            buf_u64(b, row[i].v - 1);
        before = ",";
    }
    if (before[1] == '\0')
        ADD(b, "}");
}

/* What the task itself says, where its pool says something else. */
static void add_own(struct buf *b, const struct task_own *o)
{
    if (o->ttl_ms != 0)
        add_moment(b, ",\"ttl\":", (int64_t)o->ttl_ms - 1);
    if (o->max_attempts != 0)
        add_number(b, ",\"max_attempts\":", o->max_attempts - 1);
    add_retry(b, o);
    if (o->labels == NULL || o->labels[0] == 0)
        return;
    ADD(b, ",\"labels\":[");
    for (const char *p = o->labels; *p != 0; p += *p == ',') {
        size_t n = strcspn(p, ",");

        if (p != o->labels)
            ADD(b, ",");
        json_ascii(b, p, n);
        p += n;
    }
    ADD(b, "]");
}

/* ,"history":[{"attempt":1,"started_at":...,"ms":120,"end":"nack","reason":"...","retry_at":...}] */
static void add_attempt(struct buf *b, const struct attempt_row *h)
{
    add_text(b, "{\"end\":", attempt_end_word(h->end));
    if (h->no != 0)
        add_number(b, ",\"attempt\":", h->no);
    add_moment(b, ",\"started_at\":", h->started_ms);
    add_moment(b, ",\"ended_at\":", h->ended_ms);
    if (h->started_ms != 0)
        add_number(b, ",\"ms\":", (uint64_t)(h->ended_ms - h->started_ms));
    if (h->number != 0)
        add_number(b, ",\"status\":", h->number);
    if (h->reason.n > 0) {
        ADD(b, ",\"reason\":");
        json_utf8(b, (const char *)h->reason.p, h->reason.n);
    }
    add_moment(b, ",\"retry_at\":", h->again_ms);
    ADD(b, "}");
}

static void add_history(struct buf *b, const struct msg_task_get_ans *m)
{
    ADD(b, ",\"history\":[");
    for (uint32_t i = 0; i < m->n_history; i++) {
        if (i > 0)
            ADD(b, ",");
        add_attempt(b, &m->history[i]);
    }
    ADD(b, "]");
    if (m->earlier > 0)
        add_number(b, ",\"earlier_attempts\":", m->earlier);
}

static bool is_cut(const struct msg_task_get_ans *m)
{
    return m->result_length > m->result.n;
}

static void add_sha256(struct buf *b, const struct msg_task_get_ans *m)
{
    static const char digits[] = "0123456789abcdef";

    for (uint32_t i = 0; i < m->result_sha256.n; i++) {
        buf_byte(b, (uint8_t)digits[m->result_sha256.p[i] >> 4]);
        buf_byte(b, (uint8_t)digits[m->result_sha256.p[i] & 15]);
    }
}

/* "application/json; charset=utf-8", "application/problem+json" */
static bool says_json(const char *type)
{
    size_t n = strcspn(type, "; ");

    return (n == 16 && strncasecmp(type, "application/json", n) == 0) ||
           (n > 5 && strncasecmp(type + n - 5, "+json", 5) == 0);
}

/* It may stand in an answer of ours: a worker's is one JSON value, a target may say what it likes. */
static bool is_json(const struct msg_task_get_ans *m)
{
    struct json_scan s;
    struct slice raw;

    if (is_cut(m) || m->status == 0)
        return !is_cut(m);
    json_scan_init(&s, (struct slice){ (char *)(uintptr_t)m->result.p, m->result.n });
    return says_json(m->content_type) && json_scan_value(&s, &raw) && json_scan_ends(&s);
}

static void add_result(struct buf *b, const struct msg_task_get_ans *m)
{
    if (is_json(m)) {
        ADD(b, ",\"result\":");
        buf_append(b, m->result.p, m->result.n);
    }
    add_number(b, ",\"result_length\":", m->result_length);
    ADD(b, ",\"result_sha256\":\"");
    add_sha256(b, m);
    buf_str(b, is_cut(m) ? "\",\"result_truncated\":true" : "\",\"result_truncated\":false");
}

/* ,"kind":"callback","endpoint":"gen","status":200,"content_type":"text/plain" */
static void add_endpoint(struct buf *b, const struct msg_task_get_ans *m, const char *endpoint)
{
    if (endpoint[0] == '\0')
        return;
    add_text(b, ",\"kind\":\"callback\",\"endpoint\":", endpoint);
    if (m->status != 0)
        add_number(b, ",\"status\":", m->status);
    if (m->content_type[0] != '\0')
        add_text(b, ",\"content_type\":", m->content_type);
}

void task_answer_look(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                      const char *endpoint)
{
    struct buf *b = &a->body;
    bool final = task_state_is_final((enum task_state)m->state);

    ok(a, 200);
    open_task(b, t);
    add_text(b, ",\"queue\":", m->queue);
    add_state(b, m->state);
    add_endpoint(b, m, endpoint);
    add_key(b, m->key1, m->key2);
    add_number(b, ",\"priority\":", m->priority);
    ADD(b, ",\"order\":");
    buf_i64(b, m->order);
    add_place(b, m);
    add_own(b, &m->own);
    add_number(b, ",\"attempts\":", m->attempts);
    if (m->stopping)
        ADD(b, ",\"stopping\":true");
    add_moment(b, ",\"entered_at\":", m->entered_ms);
    add_moment(b, ",\"started_at\":", m->started_ms);
    add_moment(b, ",\"ended_at\":", m->ended_ms);
    add_until(b, m);
    if (m->n_history > 0)
        add_history(b, m);
    if (m->state == TASK_SUCCEEDED && m->result_length > 0)
        add_result(b, m);
    if (!final) {
        add_number(b, ",\"poll_after_ms\":", poll_after_ms(m));
        retry_after(a, m);
    }
    ADD(b, "}");
}

void task_answer_waited(struct api_ans *a, bool fresh, const struct task_name *t,
                        const struct msg_task_get_ans *m, const char *endpoint)
{
    task_answer_look(a, t, m, endpoint);
    location(a, t);
    if (fresh && !task_state_is_final((enum task_state)m->state))
        a->status = 201;
}

static void result_headers(struct buf *b, const struct msg_task_get_ans *m)
{
    add_number(b, "segq-status: ", m->status != 0 ? m->status : 200);
    ADD(b, "\r\n");
    if (m->result_length == 0)
        return;
    add_number(b, "segq-length: ", m->result_length);
    ADD(b, "\r\nsegq-sha256: ");
    add_sha256(b, m);
    buf_str(b, is_cut(m) ? "\r\nsegq-truncated: true\r\n" : "\r\n");
}

/* A browser shows it, and runs nothing of it. */
static bool is_harmless(const char *type)
{
    size_t n = strcspn(type, "; ");

    return says_json(type) || (n == 10 && strncasecmp(type, "text/plain", n) == 0);
}

/* The bytes of a stranger's server, under our name: it may not be a page of ours. */
static void put_result(struct api_ans *a, const struct msg_task_get_ans *m)
{
    const char *type = m->status == 0 ? API_JSON : m->content_type;

    a->type = m->result.n == 0                     ? NULL
              : is_cut(m) || type[0] == '\0' ? "application/octet-stream"
                                                    : type;
    result_headers(&a->headers, m);
    if (m->status != 0)
        ADD(&a->headers, "Content-Security-Policy: sandbox; default-src 'none'\r\n");
    buf_append(&a->body, m->result.p, m->result.n);
}

void task_answer_result(struct api_ans *a, const struct msg_task_get_ans *m, uint64_t salt)
{
    if (!task_state_is_final((enum task_state)m->state)) {
        ok(a, 202);
        ADD(&a->body, "{\"code\":\"result_pending\"");
        add_state(&a->body, m->state);
        ADD(&a->body, "}");
        retry_after(a, m);
    } else if (m->state != TASK_SUCCEEDED) {
        api_problem(a, API_TASK_FINAL, "the task is over, without a result", salt);
    } else {
        ok(a, m->result.n > 0 ? 200 : 204);
        put_result(a, m);
        if (m->status != 0 && !is_harmless(m->content_type))
            ADD(&a->headers, "Content-Disposition: attachment\r\n");
    }
}

void task_answer_call(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                      const char *endpoint, uint64_t salt)
{
    bool good = m->state == TASK_SUCCEEDED && m->status != 0;

    if (!task_state_is_final((enum task_state)m->state)) {
        task_answer_look(a, t, m, endpoint);
        a->status = 202;
    } else if (!good || is_cut(m)) {
        api_problem(a, API_ENDPOINT_FAILED,
                    good ? "the answer is longer than its pool keeps; its task has the beginning"
                         : "the endpoint has not answered well; its task says more", salt);
    } else {
        ok(a, (int)m->status);
        put_result(a, m);
    }
    location(a, t);
}

void task_answer_changed(struct api_ans *a, const struct task_name *t, uint8_t state, bool stopping)
{
    ok(a, 200);
    open_task(&a->body, t);
    add_state(&a->body, state);
    if (stopping)
        ADD(&a->body, ",\"stopping\":true");
    ADD(&a->body, "}");
}

/* ---- lists ---- */

void task_list_begin(struct api_ans *a)
{
    ok(a, 207);
    ADD(&a->body, "[");
}

/* {"status":201 */
static void open_row(struct api_ans *a, int status)
{
    if (a->body.len > 1)
        ADD(&a->body, ",");
    add_number(&a->body, "{\"status\":", (uint64_t)status);
    ADD(&a->body, ",");
}

void task_list_put(struct api_ans *a, int status, const struct task_name *t, uint8_t state)
{
    open_row(a, status);
    add_task(&a->body, t);
    add_state(&a->body, state);
    ADD(&a->body, "}");
}

void task_list_settled(struct api_ans *a, const struct task_name *t, enum task_verb verb,
                       const struct settled_row *row)
{
    open_row(a, 200);
    add_task(&a->body, t);
    add_settled(&a->body, verb, row);
}

void task_list_problem(struct api_ans *a, enum api_problem p, const char *detail)
{
    open_row(a, api_problem_status(p));
    add_text(&a->body, "\"code\":", api_problem_code(p));
    add_text(&a->body, ",\"detail\":", detail);
    ADD(&a->body, "}");
}

void task_list_end(struct api_ans *a)
{
    ADD(&a->body, "]");
}
