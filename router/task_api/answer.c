/* answer.c: see answer.h. */
#include "router/task_api/answer.h"

#include <string.h>

#include "common/task/state.h"
#include "router/api/json_out.h"

/* ---- submissions, and what workers do ---- */

static void location(struct api_ans *a, const struct task_name *t, const char *header)
{
    buf_str(&a->headers, header);
    ADD(&a->headers, ": /v1/tasks/");
    buf_append(&a->headers, t->text, TASK_TOKEN_LEN);
    ADD(&a->headers, "\r\n");
}

/* The id that the target knows it by. */
static void task_id(struct api_ans *a, part_no part, task_no no)
{
    out_u64(&a->headers, "segq-task: ", part);
    out_u64(&a->headers, "-", no);
    ADD(&a->headers, "\r\n");
}

void task_answer_put(struct api_ans *a, int status, const struct task_name *t, struct slice queue,
                     uint8_t state)
{
    api_ok(a, status);
    task_note(a, t, state);
    location(a, t, "Location");
    if (status == 202)
        ADD(&a->headers, "Retry-After: 1\r\n");
    task_add_name(&a->body, "{\"task\":\"", t);
    ADD(&a->body, ",\"queue\":\"");
    buf_append(&a->body, queue.p, queue.n);
    ADD(&a->body, "\"");
    task_add_state(&a->body, state);
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

    task_add_state(b, row->state);
    out_moment(b, until[verb], row->until_ms);
    ADD(b, "}");
}

void task_answer_settled(struct api_ans *a, const struct task_name *t, enum task_verb verb,
                         const struct settled_row *row)
{
    api_ok(a, 200);
    task_add_name(&a->body, "{\"task\":\"", t);
    add_settled(&a->body, verb, row);
}

void task_answer_completed(struct api_ans *a, part_no part, task_no no, uint8_t state,
                           int64_t until_ms)
{
    const struct settled_row row = { .state = state, .until_ms = until_ms };

    api_ok(a, 200);
    out_u64(&a->body, "{\"id\":\"", part);
    out_u64(&a->body, "-", no);
    ADD(&a->body, "\"");
    add_settled(&a->body, state == TASK_RUNNING     ? VERB_EXTEND
                          : state == TASK_RETRYING ? VERB_NACK
                                                   : VERB_ACK, &row);
}

/* queue: n 0: it is not said. */
static void add_taken(struct buf *b, const struct taken_row *row, part_no part,
                      const struct token_key *k, struct slice queue)
{
    struct task_name t;
    char lease[LEASE_TEXT_LEN];

    task_token_write(part, row->no, k, t.text);
    lease_write(row->lease, lease);
    task_add_name(b, "{\"task\":\"", &t);
    if (queue.n > 0) {
        ADD(b, ",\"queue\":\"");
        buf_append(b, queue.p, queue.n);
        ADD(b, "\"");
    }
    ADD(b, ",\"lease_id\":\"");
    buf_append(b, lease, sizeof(lease));
    out_u64(b, "\",\"attempt\":", row->attempt);
    out_moment(b, ",\"lease_expires_at\":", row->until_ms);
    task_add_key(b, row->key1, row->key2);
    task_add_payload(b, row->body.p, row->body.n);
    ADD(b, "}");
}

void task_answer_resume(struct api_ans *a, struct slice settled)
{
    api_ok(a, 200);
    buf_append(&a->body, settled.p, settled.n);
}

/* Behind the members of a settlement, if the answer has them. */
static void open_taken(struct api_ans *a)
{
    if (a->body.len > 0) {
        a->body.len--; /* brace at the end */
        ADD(&a->body, ",\"tasks\":[");
    } else {
        api_ok(a, 200);
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
        add_taken(&a->body, &m->v[i], part, k, (struct slice){ 0 });
    }
    ADD(&a->body, "]}");
}

void task_add_taken(struct buf *b, const struct msg_task_take_ans *m, part_no part, const struct token_key *k,
                    struct slice queue)
{
    for (uint32_t i = 0; i < m->n; i++) {
        if (b->len > 0)
            ADD(b, ",");
        add_taken(b, &m->v[i], part, k, queue);
    }
}

void task_answer_taken_of(struct api_ans *a, const struct buf *tasks)
{
    open_taken(a);
    buf_append(&a->body, tasks->data, tasks->len);
    ADD(&a->body, "]}");
}

void task_answer_not_taken(struct api_ans *a, enum api_problem p, const char *detail)
{
    open_taken(a);
    out_u64(&a->body, "],\"take\":{\"status\":", (uint64_t)api_problem_status(p));
    out_text(&a->body, ",\"code\":", api_problem_code(p));
    out_text(&a->body, ",\"detail\":", detail);
    ADD(&a->body, "}}");
}

/* ---- one task ---- */

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
        api_ok(a, 202);
        ADD(&a->body, "{\"code\":\"result_pending\"");
        task_add_state(&a->body, m->state);
        ADD(&a->body, "}");
        task_retry_after(a, m);
    } else if (!result_is_there(m)) {
        api_problem(a, API_TASK_FINAL, "the task is over, without a result", salt);
    } else {
        api_ok(a, m->result.n > 0 ? 200 : 204);
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
        api_ok(a, 200);
        a->status = (int)m->status;
        result_put(a, m);
        passed_on_fields(&a->headers, m, from, false);
    }
    /* The target's Location is its own: ours is another field behind its answer. */
    if (final && why == NULL)
        task_id(a, m->part, m->no);
    location(a, t, final && why == NULL ? "segq-location" : "Location");
}

static void passing_head(struct api_ans *a, const struct task_name *t, const struct msg_task_piece *m,
                         const struct passed_from *from, bool of_file)
{
    struct msg_task_get_ans g = { .state = TASK_RUNNING, .status = m->status, .content_type = m->content_type,
                                  .fields = m->fields, .fields_cut = m->fields_cut };

    api_ok(a, 200);
    a->status = (int)m->status;
    result_begin(a, &g);
    passed_on_fields(&a->headers, &g, from, of_file);
    if (of_file && !result_is_harmless(&g))
        ADD(&a->headers, "Content-Disposition: attachment\r\n");
    task_id(a, m->part, m->no);
    location(a, t, "segq-location");
}

void task_answer_passing(struct api_ans *a, const struct task_name *t, const struct msg_task_piece *m,
                         const struct passed_from *from)
{
    passing_head(a, t, m, from, false);
}

void task_answer_followed(struct api_ans *a, const struct task_name *t, const struct msg_task_piece *m,
                          const struct passed_from *from)
{
    passing_head(a, t, m, from, true);
}

void task_answer_progress(struct api_ans *a, const struct task_name *t, part_no part, task_no no)
{
    api_ok(a, 200);
    a->type = "text/event-stream";
    ADD(&a->headers, "X-Accel-Buffering: no\r\n"); /* nginx and its like would keep it */
    task_id(a, part, no);
    location(a, t, "segq-location");
}

void task_answer_result_as_told(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                                const struct passed_from *from, uint64_t salt)
{
    bool final = task_state_is_final((enum task_state)m->state);

    if (final && m->status != 0 && m->result.n == 0 && m->result_length > 0) {
        api_problem(a, API_TASK_FINAL, "the task is over, and nothing is kept of its answer (result: drop, or "
                    "max_result of its pool)", salt);
        return;
    }
    task_answer_result(a, m, from, salt);
    if (!final || result_not_passed_on(m) != NULL)
        return;
    a->status = (int)m->status;
    task_id(a, m->part, m->no);
    location(a, t, "segq-location");
}

void task_answer_changed(struct api_ans *a, const struct task_name *t, uint8_t state, bool stopping,
                         bool maybe_executed)
{
    api_ok(a, 200);
    task_note(a, t, state);
    a->told.stopping = stopping;
    task_add_name(&a->body, "{\"task\":\"", t);
    task_add_state(&a->body, state);
    task_add_cancel(&a->body, stopping, maybe_executed);
    ADD(&a->body, "}");
}

/* ---- lists ---- */

void task_list_begin(struct api_ans *a)
{
    api_ok(a, 207);
    ADD(&a->body, "[");
}

/* {"status":201 */
static void open_row(struct api_ans *a, int status)
{
    out_u64(&a->body, a->body.len > 1 ? ",{\"status\":" : "{\"status\":", (uint64_t)status);
}

void task_list_put(struct api_ans *a, int status, const struct task_name *t, uint8_t state)
{
    open_row(a, status);
    task_add_name(&a->body, ",\"task\":\"", t);
    task_add_state(&a->body, state);
    ADD(&a->body, "}");
}

void task_list_settled(struct api_ans *a, const struct task_name *t, enum task_verb verb,
                       const struct settled_row *row)
{
    open_row(a, 200);
    task_add_name(&a->body, ",\"task\":\"", t);
    add_settled(&a->body, verb, row);
}

void task_list_problem(struct api_ans *a, enum api_problem p, const char *detail, uint64_t wait_ms)
{
    open_row(a, api_problem_status(p));
    out_text(&a->body, ",\"code\":", api_problem_code(p));
    out_text(&a->body, ",\"detail\":", detail);
    if (wait_ms > 0)
        out_u64(&a->body, ",\"retry_after_s\":", (wait_ms + 999) / 1000);
    ADD(&a->body, "}");
}

void task_list_end(struct api_ans *a)
{
    ADD(&a->body, "]");
}

#define FAILED(p, d) (struct task_outcome){ api_problem_status(API_##p), API_##p, d }

/* Which bound it is that is reached. */
static struct task_outcome no_room(enum task_full f)
{
    static const char *const details[] = {
#define X(NAME, word, says) "there is no room for more tasks now: " says "; submit again later",
        TASK_FULLS(X)
#undef X
    };

    if (f == FULL_WAIT || f == FULL_QUOTA)
        return FAILED(WAIT_TOO_LONG, details[f]);
    return FAILED(QUEUE_FULL, f != FULL_NONE ? details[f] : "there is no room now; ask again later");
}

const char *task_no_units(char *text, uint64_t cost, uint64_t units, uint64_t most)
{
    char *w = text_u64(PUT(text, "there is no room for a task of "), cost);

    w = text_u64(PUT(w, " units now: "), units);
    w = text_u64(PUT(w, " of at most "), most);
    w = PUT(w, " wait in its queue (max_waiting_units), ");
    w = most > units ? text_u64(PUT(w, "1 to "), most - units) : PUT(w, "none");
    *PUT(w, " would fit; submit again later") = 0;
    return text;
}

/* Answers to codes that mean the same everywhere. */
static struct task_outcome common(int code)
{
    if (code >= CODE_FULL && code < TASK_NCODES)
        return no_room((enum task_full)(code - CODE_FULL));
    switch (code) {
    case CODE_INVALID:
        return FAILED(BAD_REQUEST, "a number is out of its range");
    case ASK_LOST:
        return FAILED(OUTCOME_UNKNOWN, "no answer came in time; it may have been done");
    case ASK_NOBODY:
        return FAILED(QUEUE_UNAVAILABLE, "no task node has this queue now; nothing was done");
    default:
        return FAILED(QUEUE_UNAVAILABLE, "nothing can be written now; nothing was done, ask again");
    }
}

struct task_outcome task_put_outcome(int code)
{
    switch (code) {
    case CODE_DONE:
        return (struct task_outcome){ .status = 201 };
    case CODE_SAME:
        return (struct task_outcome){ .status = 200 };
    case CODE_CONFLICT:
        return FAILED(GROUP_SEALED, "its group is sealed: no more tasks get in");
    case CODE_HELD:
        return FAILED(UNIQUE_CONFLICT, "another task has this unique key");
    case CODE_MISMATCH:
        return FAILED(IDEMPOTENCY_MISMATCH,
                      "this Idempotency-Key or name belongs to a task with another payload");
    case CODE_UNKNOWN:
        return FAILED(QUEUE_NOT_FOUND, "no pool has a queue of this name");
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

struct task_outcome task_feed_outcome(int code, bool of_token)
{
    if (code != CODE_FULL)
        return task_take_outcome(code);
    return of_token ? FAILED(QUEUE_FULL, "this token follows as many queues of a partition as are free for all (32 of "
                                         "64, if nobody else follows any): end one, or ask again later")
                    : FAILED(QUEUE_FULL, "64 queues of this partition are followed, which is the most: ask again "
                                         "later");
}

struct task_outcome task_token_outcome(int code)
{
    switch (code) {
    case CODE_DONE:
    case CODE_SAME:
        return (struct task_outcome){ .status = 200 };
    case CODE_UNKNOWN:
        return FAILED(TASK_GONE, "this task is over, and is not kept any more");
    case CODE_DENIED:
        return FAILED(NOT_ELIGIBLE, "this server's token is not for the queue of this task, or the "
                                    "task is over and is not kept any more");
    case CODE_CONFLICT:
        return FAILED(CONFLICT, "the task is not in a state, or under a lease, that allows it");
    default:
        return common(code);
    }
}

struct task_outcome task_complete_outcome(int code)
{
    if (code == CODE_INVALID)
        return FAILED(TASK_UNKNOWN, "this is not the right of an attempt of ours");
    if (code == CODE_CONFLICT)
        return FAILED(CONFLICT, "the attempt is over: its time ended, or it was told otherwise");
    return task_token_outcome(code);
}

/* ---- schedule json ------------------------------------------------------------------------ */

struct task_outcome schedule_outcome(int code, enum schedule_verb verb,
                                     const struct msg_task_schedule_ans *m)
{
    switch (code) {
    case CODE_DONE:
    case CODE_SAME:
        if (verb == SCHEDULE_GET && m->n == 0)
            return task_token_outcome(CODE_BUSY);
        return (struct task_outcome){ .status = 200 };
    case CODE_UNKNOWN:
        if (verb == SCHEDULE_PUT)
            return task_put_outcome(code);
        return FAILED(SCHEDULE_UNKNOWN, "the queue has no schedule of this name");
    case CODE_INVALID:
        return FAILED(BAD_REQUEST, m->why[0] != '\0' ? m->why : "it cannot be as it is defined");
    case CODE_FULL:
        return FAILED(CONFLICT, m->why[0] != '\0' ? m->why
                                                 : "there are 1000 schedules in this partition: delete some");
    case ASK_OTHER_KIND:
        return task_put_outcome(code);
    default:
        return task_token_outcome(code);
    }
}

int schedule_deleted(int code, int other)
{
    if (code == CODE_UNKNOWN)
        return other;
    if (code != CODE_DONE || other == CODE_DONE || other == CODE_UNKNOWN)
        return code;
    return ASK_LOST; /* perhaps going on there */
}

/* The newest task that it made. */
static void add_task(struct buf *b, const struct schedule_row *row, part_no part,
                     const struct token_key *k)
{
    struct task_name name;

    if (row->fired_ms == 0)
        return;
    out_seconds(b, ",\"task\":{\"tick\":", row->fired_ms);
    if (row->state != TASK_FREE) {
        task_token_write(part, row->no, k, name.text);
        task_add_name(b, ",\"task\":\"", &name);
        task_add_state(b, (uint8_t)row->state);
    }
    buf_str(b, "}");
}

static void add_row(struct buf *b, const struct schedule_row *row, part_no part,
                    const struct token_key *k)
{
    out_text(b, "{\"schedule\":", row->name);
    buf_str(b, ",\"next\":[");
    for (uint32_t i = 0; i < row->n_next; i++)
        out_seconds(b, i > 0 ? "," : "", row->next_ms[i]);
    buf_str(b, "]");
    if (row->outcome != TICK_NONE) {
        out_seconds(b, ",\"last\":{\"tick\":", row->last_ms);
        out_text(b, ",\"outcome\":", tick_outcome_word(row->outcome));
        buf_str(b, "}");
    }
    add_task(b, row, part, k);
    if (row->why[0] != '\0')
        out_text(b, ",\"why\":", row->why);
    if (row->text.n > 0) {
        buf_str(b, ",\"definition\":");
        buf_append(b, row->text.p, row->text.n);
    }
    buf_str(b, "}");
}

void schedule_ran(struct api_ans *a, struct slice queue, const char *name,
                  const struct msg_task_schedule_ans *m, part_no part, const struct token_key *k)
{
    static const char *const words[SCHEDULE_NRUNS] = { "", "fired", "same", "skipped" };
    struct task_name task;

    api_ok(a, 200);
    task_add_queue(&a->body, queue);
    out_text(&a->body, ",\"schedule\":", name);
    out_text(&a->body, ",\"outcome\":", words[m->ran < SCHEDULE_NRUNS ? m->ran : 0]);
    task_token_write(part, m->ran_no, k, task.text);
    task_add_name(&a->body, ",\"task\":\"", &task);
    buf_str(&a->body, "}");
}

void schedule_answer(struct api_ans *a, enum schedule_verb verb, struct slice queue, const char *name,
                     const struct msg_task_schedule_ans *m, part_no part, const struct token_key *k)
{
    a->status = verb == SCHEDULE_DELETE ? 204 : m->fresh ? 201 : 200;
    if (verb == SCHEDULE_DELETE)
        return;
    a->type = API_JSON;
    if (verb == SCHEDULE_GET) {
        add_row(&a->body, m->v, part, k);
        return;
    }
    task_add_queue(&a->body, queue);
    if (verb == SCHEDULE_PUT) {
        out_text(&a->body, ",\"schedule\":", name);
        buf_str(&a->body, "}");
        return;
    }
    buf_str(&a->body, ",\"schedules\":[");
    for (uint32_t i = 0; i < m->n; i++) {
        buf_str(&a->body, i > 0 ? "," : "");
        add_row(&a->body, &m->v[i], part, k);
    }
    buf_str(&a->body, "]}");
}
