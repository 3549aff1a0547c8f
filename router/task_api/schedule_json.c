/* schedule_json.c: see schedule_json.h. */
#include "router/task_api/schedule_json.h"

#include "common/task/state.h"
#include "router/api/json_out.h"

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

/* The newest task that it made. */
static void add_task(struct buf *b, const struct schedule_row *row, part_no part,
                     const struct token_key *k)
{
    char token[TASK_TOKEN_LEN];

    if (row->fired_ms == 0)
        return;
    out_seconds(b, ",\"task\":{\"tick\":", row->fired_ms);
    if (row->state != TASK_FREE) {
        task_token_write(part, row->no, k, token);
        buf_str(b, ",\"task\":\"");
        buf_append(b, token, sizeof(token));
        out_text(b, "\",\"state\":", task_state_word((enum task_state)row->state));
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
    char token[TASK_TOKEN_LEN];

    api_ok(a, 200);
    buf_str(&a->body, "{\"queue\":\"");
    buf_append(&a->body, queue.p, queue.n);
    out_text(&a->body, "\",\"schedule\":", name);
    out_text(&a->body, ",\"outcome\":", words[m->ran < SCHEDULE_NRUNS ? m->ran : 0]);
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
        out_text(&a->body, "\",\"schedule\":", name);
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
