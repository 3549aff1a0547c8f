/* schedule_answer.c: see schedule_answer.h. */
#include "router/task_api/schedule_answer.h"

#include <string.h>

#include "common/base/text.h"
#include "common/http/problem.h"
#include "common/task/state.h"

#define FAILED(p, d) (struct task_outcome){ api_problem_status(API_##p), API_##p, d }

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

static void add_text(struct buf *b, const char *name, const char *text)
{
    buf_str(b, name);
    json_ascii(b, text, strlen(text));
}

static void add_seconds(struct buf *b, const char *name, int64_t ms)
{
    buf_str(b, name);
    buf_i64(b, ms / 1000);
}

/* The newest task that it made. */
static void add_task(struct buf *b, const struct schedule_row *row, part_no part,
                     const struct token_key *k)
{
    char token[TASK_TOKEN_LEN];

    if (row->fired_ms == 0)
        return;
    add_seconds(b, ",\"task\":{\"tick\":", row->fired_ms);
    if (row->state != TASK_FREE) {
        task_token_write(part, row->no, k, token);
        buf_str(b, ",\"task\":\"");
        buf_append(b, token, sizeof(token));
        add_text(b, "\",\"state\":", task_state_word((enum task_state)row->state));
    }
    buf_str(b, "}");
}

static void add_row(struct buf *b, const struct schedule_row *row, part_no part,
                    const struct token_key *k)
{
    add_text(b, "{\"schedule\":", row->name);
    buf_str(b, ",\"next\":[");
    for (uint32_t i = 0; i < row->n_next; i++)
        add_seconds(b, i > 0 ? "," : "", row->next_ms[i]);
    buf_str(b, "]");
    if (row->outcome != TICK_NONE) {
        add_seconds(b, ",\"last\":{\"tick\":", row->last_ms);
        add_text(b, ",\"outcome\":", tick_outcome_word(row->outcome));
        buf_str(b, "}");
    }
    add_task(b, row, part, k);
    if (row->why[0] != '\0')
        add_text(b, ",\"why\":", row->why);
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
    char token[TASK_TOKEN_LEN];

    a->status = 200;
    a->type = API_JSON;
    buf_str(&a->body, "{\"queue\":\"");
    buf_append(&a->body, queue.p, queue.n);
    add_text(&a->body, "\",\"schedule\":", name);
    add_text(&a->body, ",\"outcome\":", words[m->ran < SCHEDULE_NRUNS ? m->ran : 0]);
    task_token_write(part, m->ran_no, k, token);
    buf_str(&a->body, ",\"task\":\"");
    buf_append(&a->body, token, sizeof(token));
    buf_str(&a->body, "\"}");
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
    buf_str(&a->body, "{\"queue\":\"");
    buf_append(&a->body, queue.p, queue.n);
    if (verb == SCHEDULE_PUT) {
        add_text(&a->body, "\",\"schedule\":", name);
        buf_str(&a->body, "}");
        return;
    }
    buf_str(&a->body, "\",\"schedules\":[");
    for (uint32_t i = 0; i < m->n; i++) {
        buf_str(&a->body, i > 0 ? "," : "");
        add_row(&a->body, &m->v[i], part, k);
    }
    buf_str(&a->body, "]}");
}
