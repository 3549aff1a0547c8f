/* answer.c: see answer.h. */
#include "router/task_api/answer.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "common/http/problem.h"
#include "common/task/state.h"
#include "router/task_api/result.h"

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

/* The effect of a cancel on an attempt: it runs out; its target may have done it. */
static void add_cancel(struct buf *b, bool stopping, bool maybe_executed)
{
    if (stopping)
        ADD(b, ",\"stopping\":true");
    if (maybe_executed)
        ADD(b, ",\"maybe_executed\":true");
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
    assert(a->body.len == 0 && status < 400); /* a single answer at a time */
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

/* ---- submissions, and what workers do ---- */

static void location(struct api_ans *a, const struct task_name *t, const char *header)
{
    buf_str(&a->headers, header);
    ADD(&a->headers, ": /v1/tasks/");
    buf_append(&a->headers, t->text, TASK_TOKEN_LEN);
    ADD(&a->headers, "\r\n");
}

void task_answer_put(struct api_ans *a, int status, const struct task_name *t, struct slice queue,
                     uint8_t state)
{
    ok(a, status);
    location(a, t, "Location");
    if (status == 202)
        ADD(&a->headers, "Retry-After: 1\r\n");
    open_task(&a->body, t);
    ADD(&a->body, ",\"queue\":\"");
    buf_append(&a->body, queue.p, queue.n);
    ADD(&a->body, "\"");
    add_state(&a->body, state);
    ADD(&a->body, "}");
}

/* Writes its state now, and until when. */
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

void task_answer_completed(struct api_ans *a, part_no part, task_no no, uint8_t state,
                           int64_t until_ms)
{
    const struct settled_row row = { .state = state, .until_ms = until_ms };

    ok(a, 200);
    add_number(&a->body, "{\"id\":\"", part);
    add_number(&a->body, "-", no);
    ADD(&a->body, "\"");
    add_settled(&a->body, state == TASK_RUNNING     ? VERB_EXTEND
                          : state == TASK_RETRYING ? VERB_NACK
                                                   : VERB_ACK, &row);
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

void task_answer_resume(struct api_ans *a, struct slice settled)
{
    ok(a, 200);
    buf_append(&a->body, settled.p, settled.n);
}

/* Behind the members of a settlement, if the answer has them. */
static void open_taken(struct api_ans *a)
{
    if (a->body.len > 0) {
        a->body.len--; /* brace at the end */
        ADD(&a->body, ",\"tasks\":[");
    } else {
        ok(a, 200);
        ADD(&a->body, "{\"tasks\":[");
    }
}

void task_answer_taken(struct api_ans *a, const struct msg_task_take_ans *m, part_no part,
                       const struct token_key *k)
{
    open_taken(a);
    for (uint32_t i = 0; i < m->n; i++) {
        if (i > 0)
            ADD(&a->body, ",");
        add_taken(&a->body, &m->v[i], part, k);
    }
    ADD(&a->body, "]}");
}

void task_answer_not_taken(struct api_ans *a, enum api_problem p, const char *detail)
{
    open_taken(a);
    add_number(&a->body, "],\"take\":{\"status\":", (uint64_t)api_problem_status(p));
    add_text(&a->body, ",\"code\":", api_problem_code(p));
    add_text(&a->body, ",\"detail\":", detail);
    ADD(&a->body, "}}");
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

/* Writes what the task itself has, where its pool has something else. */
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

void task_answer_look(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                      const char *endpoint)
{
    struct buf *b = &a->body;
    bool final = task_state_is_final((enum task_state)m->state);

    ok(a, 200);
    open_task(b, t);
    add_text(b, ",\"queue\":", m->queue);
    add_state(b, m->state);
    result_add_endpoint(b, m, endpoint);
    add_key(b, m->key1, m->key2);
    add_number(b, ",\"priority\":", m->priority);
    ADD(b, ",\"order\":");
    buf_i64(b, m->order);
    add_place(b, m);
    add_own(b, &m->own);
    add_number(b, ",\"attempts\":", m->attempts);
    add_cancel(b, m->stopping, task_maybe_executed(m));
    add_moment(b, ",\"entered_at\":", m->entered_ms);
    add_moment(b, ",\"started_at\":", m->started_ms);
    add_moment(b, ",\"ended_at\":", m->ended_ms);
    add_until(b, m);
    if (m->n_history > 0)
        add_history(b, m);
    a->result = (struct slice){ (char *)(uintptr_t)m->result.p, m->result.n };
    if (m->result_length > 0)
        result_add_members(b, m);
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
    location(a, t, "Location");
    if (fresh && !task_state_is_final((enum task_state)m->state))
        a->status = 201;
}

void task_answer_result(struct api_ans *a, const struct msg_task_get_ans *m,
                        const struct passed_from *from, uint64_t salt)
{
    if (!task_state_is_final((enum task_state)m->state)) {
        ok(a, 202);
        ADD(&a->body, "{\"code\":\"result_pending\"");
        add_state(&a->body, m->state);
        ADD(&a->body, "}");
        retry_after(a, m);
    } else if (!result_is_there(m)) {
        api_problem(a, API_TASK_FINAL, "the task is over, without a result", salt);
    } else {
        ok(a, m->result.n > 0 ? 200 : 204);
        result_put(a, m);
        passed_on_fields(&a->headers, m, from, true);
        if (m->status != 0 && !result_is_harmless(m))
            ADD(&a->headers, "Content-Disposition: attachment\r\n");
    }
}

void task_answer_later(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                       const char *endpoint)
{
    task_answer_waited(a, false, t, m, endpoint);
    a->status = 202;
    ADD(&a->headers, "Retry-After: 1\r\n");
}

void task_answer_call(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                      const struct passed_from *from, uint64_t salt)
{
    bool final = task_state_is_final((enum task_state)m->state);
    const char *why = final ? result_not_passed_on(m) : NULL;

    if (!final) {
        task_answer_look(a, t, m, from->endpoint);
        a->status = 202;
    } else if (why != NULL) {
        api_problem(a, API_ENDPOINT_FAILED, why, salt);
    } else {
        ok(a, 200);
        a->status = (int)m->status;
        result_put(a, m);
        passed_on_fields(&a->headers, m, from, false);
    }
    /* The target's Location is its own: ours is another field behind its answer. */
    location(a, t, final && why == NULL ? "segq-location" : "Location");
}

void task_answer_changed(struct api_ans *a, const struct task_name *t, uint8_t state, bool stopping,
                         bool maybe_executed)
{
    ok(a, 200);
    open_task(&a->body, t);
    add_state(&a->body, state);
    add_cancel(&a->body, stopping, maybe_executed);
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
