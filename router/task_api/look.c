/* look.c: see look.h. */
#include "router/task_api/look.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/text.h"
#include "common/task/call.h"
#include "common/task/state.h"
#include "router/api/json_out.h"
#include "router/task_api/result.h"

/* ---- members ---- */

void task_note(struct api_ans *a, const struct task_name *t, uint8_t state)
{
    api_tell_name(&a->told, t->text, TASK_TOKEN_LEN);
    a->told.state = state != TASK_FREE ? task_state_word((enum task_state)state) : NULL;
}

void task_add_state(struct buf *b, uint8_t state)
{
    if (state == TASK_FREE)
        return;
    assert(state < TASK_NSTATES);
    out_word(b, ",\"state\":", task_state_word((enum task_state)state));
}

void task_add_cancel(struct buf *b, bool stopping, bool maybe_executed)
{
    if (stopping)
        ADD(b, ",\"stopping\":true");
    if (maybe_executed)
        ADD(b, ",\"maybe_executed\":true");
}

void task_add_key(struct buf *b, const char *key1, const char *key2)
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
    *w = '\0';
    out_text(b, ",\"key\":", text);
}

void task_add_name(struct buf *b, const char *before, const struct task_name *t)
{
    out_bytes(b, before, t->text, TASK_TOKEN_LEN);
    ADD(b, "\"");
}

void task_add_queue(struct buf *b, struct slice queue)
{
    out_bytes(b, "{\"queue\":\"", queue.p, queue.n);
    ADD(b, "\"");
}

static void add_base64(struct buf *b, const char *p, size_t n)
{
    size_t room = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_ORIGINAL);
    uint8_t *to = buf_reserve(b, room);

    if (to == NULL)
        return;
    sodium_bin2base64((char *)to, room, (const uint8_t *)p, n, sodium_base64_VARIANT_ORIGINAL);
    b->len += room - 1; /* without its 0 */
}

void task_add_payload(struct buf *b, const void *p, size_t n)
{
    struct payload x = payload_of(p, n);

    if (!x.typed) {
        ADD(b, ",\"payload\":");
        buf_append(b, n > 0 ? p : "null", n > 0 ? n : 4);
        return;
    }
    ADD(b, ",\"content_type\":");
    json_ascii(b, x.type.p, x.type.n);
    ADD(b, ",\"payload_base64\":\"");
    add_base64(b, x.bytes.p, x.bytes.n);
    ADD(b, "\"");
}

void task_add_line(struct buf *b, struct slice json)
{
    size_t at = b->len;

    buf_append(b, json.p, json.n);
    for (; at < b->len; at++)
        if (b->data[at] == '\n' || b->data[at] == '\r')
            b->data[at] = ' ';
}

/* ---- a task as it is ---- */

/* When to look at it again: what is far away is looked at rarely, what is near or not known soon. */
static uint32_t poll_after_ms(const struct msg_task_get_ans *m)
{
    int64_t ms = m->eta == TASK_ETA_UNSAID ? 0 : m->eta_ms < 0 ? 5000 : m->eta_ms;

    if (m->eta == TASK_ETA_PACE || m->eta == TASK_ETA_RATE)
        ms /= 4; /* an estimate */
    return (uint32_t)ms_min(ms_max(ms, 1000), 60000);
}

void task_retry_after(struct api_ans *a, const struct msg_task_get_ans *m)
{
    out_u64(&a->headers, "Retry-After: ", (poll_after_ms(m) + 999) / 1000);
    ADD(&a->headers, "\r\n");
}

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
        out_moment(b, names[m->state], m->until_ms);
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
    out_text(b, ",\"limited_by\":", text);
}

/* In whole seconds, rounded up; -1: not known, or not said. */
static int64_t eta_s(uint8_t by, int64_t ms)
{
    bool said = by != TASK_ETA_UNSAID && by < TASK_NETAS;

    return !said || ms < 0 ? -1 : (ms + 999) / 1000;
}

void task_add_eta(struct buf *b, uint8_t by, int64_t ms)
{
    static const char *const words[TASK_NETAS] = {
#define X(NAME, word) word,
        TASK_ETAS(X)
#undef X
    };

    if (by == TASK_ETA_UNSAID || by >= TASK_NETAS)
        return;
    out_or_null(b, ",\"eta_s\":", eta_s(by, ms));
    out_text(b, ",\"eta_reason\":", words[by]);
}

void task_add_ahead(struct buf *b, uint64_t n)
{
    if (n > 0)
        out_u64(b, ",\"ahead_of_priority\":", n - 1);
}

/* ,"waiting":40 */
static void add_waiting(struct buf *b, const struct msg_task_get_ans *m)
{
    out_u64(b, ",\"waiting\":", m->waiting);
    if (m->waiting_capped)
        ADD(b, ",\"waiting_capped\":true");
}

void task_answer_count(struct api_ans *a, struct slice queue, const struct msg_task_get_ans *m)
{
    api_ok(a, 200);
    task_add_queue(&a->body, queue);
    add_waiting(&a->body, m);
    task_add_eta(&a->body, m->eta, m->eta_ms);
    ADD(&a->body, "}");
}

static void add_first(struct buf *b, const struct first_row *r, part_no part, const struct token_key *k,
                      bool payload)
{
    struct task_name t;

    task_token_write(part, r->no, k, t.text);
    task_add_name(b, "{\"task\":\"", &t);
    task_add_key(b, r->key1, r->key2);
    out_u64(b, ",\"priority\":", r->priority);
    ADD(b, ",\"order\":");
    buf_i64(b, r->order);
    out_u64(b, ",\"attempts\":", r->attempts);
    out_moment(b, ",\"entered_at\":", r->entered_ms);
    if (payload)
        task_add_payload(b, r->body.p, r->body.n);
    ADD(b, "}");
}

void task_answer_first(struct api_ans *a, struct slice queue, const struct msg_task_first_ans *m, part_no part,
                       const struct token_key *k, bool payloads)
{
    struct buf *b = &a->body;

    api_ok(a, 200);
    task_add_queue(b, queue);
    out_u64(b, ",\"waiting\":", m->waiting);
    out_u64(b, ",\"startable\":", m->now);
    ADD(b, ",\"tasks\":[");
    for (uint32_t i = 0; i < m->n; i++) {
        if (i > 0)
            ADD(b, ",");
        add_first(b, &m->v[i], part, k, payloads);
    }
    ADD(b, "]");
    if (m->cut)
        ADD(b, ",\"cut\":true");
    ADD(b, "}");
}

/* "a,b" as ["a","b"] */
static void add_list(struct buf *b, const char *p, size_t n)
{
    for (const char *end = p + n, *at = p; at < end; at++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t one = comma != NULL ? (size_t)(comma - at) : (size_t)(end - at);

        buf_append(b, at == p ? "[" : ",", 1);
        json_ascii(b, at, one);
        at += one;
    }
    ADD(b, "]");
}

static void add_offer(struct buf *b, struct bytes_of offer)
{
    if (offer.n == 0)
        return;
    ADD(b, ",\"offer_to\":");
    add_list(b, (const char *)offer.p, offer.n);
}

/* Where it stands, and what it waits for. */
static void add_place(struct buf *b, const struct msg_task_get_ans *m)
{
    if (m->position > 0)
        out_u64(b, ",\"position\":", m->position);
    if (m->position_capped)
        ADD(b, ",\"position_capped\":true");
    if (m->waiting > 0)
        add_waiting(b, m);
    if (m->state == TASK_WAITING)
        out_u64(b, ",\"ahead_of_key\":", m->ahead_of_key);
    task_add_ahead(b, m->ahead_of_priority);
    add_offer(b, m->offer);
    if (m->limited != 0) {
        add_limit(b, m);
        out_moment(b, ",\"limited_until\":", m->limited_until_ms);
    }
    task_add_eta(b, m->eta, m->eta_ms);
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
        if (row[i].ms)
            out_millis(b, row[i].name, row[i].v - 1);
        else
            out_u64(b, row[i].name, row[i].v - 1);
        before = ",";
    }
    if (before[1] == '\0')
        ADD(b, "}");
}

/* Writes what the task itself has, where its pool has something else. */
static void add_own(struct buf *b, const struct task_own *o)
{
    if (o->ttl_ms != 0)
        out_moment(b, ",\"ttl\":", (int64_t)o->ttl_ms - 1);
    if (o->max_attempts != 0)
        out_u64(b, ",\"max_attempts\":", o->max_attempts - 1);
    add_retry(b, o);
    if (o->cost != 0)
        out_u64(b, ",\"cost\":", o->cost - 1);
    if (o->labels == NULL || o->labels[0] == 0)
        return;
    ADD(b, ",\"labels\":");
    add_list(b, o->labels, strlen(o->labels));
}

/* ,"history":[{"attempt":1,"started_at":...,"ms":120,"end":"nack","reason":"...","retry_at":...}] */
static void add_attempt(struct buf *b, const struct attempt_row *h)
{
    out_text(b, "{\"end\":", attempt_end_word(h->end));
    if (h->no != 0)
        out_u64(b, ",\"attempt\":", h->no);
    out_moment(b, ",\"started_at\":", h->started_ms);
    out_moment(b, ",\"ended_at\":", h->ended_ms);
    if (h->started_ms != 0)
        out_u64(b, ",\"ms\":", (uint64_t)(h->ended_ms - h->started_ms));
    if (h->number != 0)
        out_u64(b, ",\"status\":", h->number);
    if (h->reason.n > 0) {
        ADD(b, ",\"reason\":");
        json_utf8(b, (const char *)h->reason.p, h->reason.n);
    }
    out_moment(b, ",\"retry_at\":", h->again_ms);
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
        out_u64(b, ",\"earlier_attempts\":", m->earlier);
}

static int64_t seconds_or_none(int64_t ms)
{
    return ms > 0 ? ms / 1000 : -1;
}

void task_add_progress(struct buf *b, const struct progress_said *p)
{
    if (p->ms == 0)
        return;
    out_moment(b, ",\"progress\":{\"at\":", p->ms);
    if (p->percent != 0)
        out_u64(b, ",\"percent\":", p->percent - 1u);
    if (p->text.n > 0) {
        ADD(b, ",\"text\":");
        json_utf8(b, (const char *)p->text.p, p->text.n);
    }
    if (p->data.n > 0) {
        ADD(b, ",\"data\":");
        task_add_line(b, (struct slice){ (char *)(uintptr_t)p->data.p, p->data.n });
    }
    ADD(b, "}");
}

static void note_look(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m)
{
    struct api_told *x = &a->told;

    task_note(a, t, m->state);
    x->position = m->position > 0 ? (int64_t)m->position : -1;
    x->eta_s = eta_s(m->eta, m->eta_ms);
    x->entered_s = seconds_or_none(m->entered_ms);
    x->started_s = seconds_or_none(m->started_ms);
    x->ended_s = seconds_or_none(m->ended_ms);
    x->stopping = m->stopping;
    x->result = (struct slice){ (char *)(uintptr_t)m->result.p, m->result.n };
}

void task_name_then(struct task_name *t, const struct msg_task_get_ans *m, const struct token_key *k)
{
    if (m->then == CHAIN_BEGUN)
        task_token_write(m->then_part, m->then_no, k, t->then);
}

/* A chain is over with a task that has not succeeded; a dead one may be redriven. */
static uint8_t chain_of(const struct msg_task_get_ans *m)
{
    return m->then == CHAIN_WAITS && m->state == TASK_DEAD ? CHAIN_ENDED : m->then;
}

/* ,"after":"3-77","then":{"state":"submitted","task":"..."}: the task before it by its id, since whoever has
 * this one's token has no right to that one's result. */
static void add_chain(struct buf *b, const struct task_name *t, const struct msg_task_get_ans *m)
{
    if (m->after_no != 0)
        out_id(b, ",\"after\":", m->after_part, m->after_no);
    if (m->then == CHAIN_NONE)
        return;
    out_text(b, ",\"then\":{\"state\":", chain_state_word(chain_of(m)));
    if (m->then == CHAIN_BEGUN) {
        out_bytes(b, ",\"task\":\"", t->then, TASK_TOKEN_LEN);
        ADD(b, "\"");
    }
    if (m->then == CHAIN_FAILED)
        out_text(b, ",\"why\":", chain_why_word(m->then_why));
    ADD(b, "}");
}

void task_answer_look(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                      const char *endpoint)
{
    struct buf *b = &a->body;
    bool final = task_state_is_final((enum task_state)m->state);

    api_ok(a, 200);
    task_add_name(b, "{\"task\":\"", t);
    out_text(b, ",\"queue\":", m->queue);
    task_add_state(b, m->state);
    result_add_call(b, m, endpoint);
    task_add_key(b, m->key1, m->key2);
    out_u64(b, ",\"priority\":", m->priority);
    ADD(b, ",\"order\":");
    buf_i64(b, m->order);
    add_place(b, m);
    add_own(b, &m->own);
    if (m->cost_used != 0)
        out_u64(b, ",\"cost_used\":", m->cost_used - 1);
    add_chain(b, t, m);
    out_u64(b, ",\"attempts\":", m->attempts);
    task_add_progress(b, &m->progress);
    task_add_cancel(b, m->stopping, task_maybe_executed(m));
    out_moment(b, ",\"entered_at\":", m->entered_ms);
    out_moment(b, ",\"started_at\":", m->started_ms);
    out_moment(b, ",\"ended_at\":", m->ended_ms);
    add_until(b, m);
    if (m->n_history > 0)
        add_history(b, m);
    note_look(a, t, m);
    if (m->result_length > 0)
        result_add(b, m);
    if (m->content_type[0] != '\0' && endpoint[0] == '\0') { /* a worker's, that is no JSON */
        ADD(b, ",\"content_type\":");
        json_ascii(b, m->content_type, strlen(m->content_type));
    }
    if (!final) {
        out_u64(b, ",\"poll_after_ms\":", poll_after_ms(m));
        task_retry_after(a, m);
    }
    ADD(b, "}");
}
