/* schedule_json.c: see schedule_json.h. */
#include "router/task_api/schedule_json.h"

#include <ctype.h>
#include <string.h>

#include "common/base/text.h"
#include "common/task/state.h"
#include "router/api/json_out.h"

bool schedule_name_ok(struct slice name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!isalnum((unsigned char)name.p[i]) && (i == 0 || strchr("_-.", name.p[i]) == NULL))
            return false;
    return name.n > 0 && name.n <= SCHEDULE_NAME_MAX;
}

enum { CRON, EVERY, ZONE, JITTER, OVERLAP, CATCH_UP, CATCH_UP_MOST, FROM, UNTIL, PAUSED, TASK };

/* Reads with the bound that schedule_body_read() has noted. */
static bool read_task(const struct json_member *m, struct json_scan *s, void *to)
{
    struct schedule_body *b = container_of(to, struct schedule_body, task);

    (void)m;
    if (json_scan_peek(s) == '{')
        return task_body_read(&b->task, s, b->may, b->e);
    (void)json_scan_value(s, &(struct slice){ 0 });
    return false;
}

static const char *const overlaps[OVERLAP_NKINDS] = { "allow", "skip", "cancel_old" };
static const char *const catch_ups[CATCH_UP_NKINDS] = { "none", "last", "all" };

#define M(name, member, least, most, how, words, must) \
    { name, offsetof(struct schedule_body, member), least, most, how, RANGE_UNSAID, words, must }

static const struct json_member members[] = {
    [CRON] = M("cron", cron, 1, CRON_TEXT_MAX, json_text, NULL,
               " must be a string of five fields, or @daily and its like"),
    [EVERY] = M("every", every, RECUR_EVERY_MIN, RECUR_EVERY_MAX, json_span, NULL,
                " must be a time such as \"15m\", of 1 second to 400 days"),
    [ZONE] = M("zone", zone, 1, ZONE_NAME_MAX, json_visible, NULL,
               " must be a time zone's name, such as \"Europe/Berlin\""),
    [JITTER] = M("jitter", jitter, 0, 86400000, json_span, NULL,
                 " must be a time such as \"30s\", of a day at most"),
    [OVERLAP] = M("overlap", overlap, 0, OVERLAP_NKINDS, json_word, overlaps,
                  " must be \"allow\", \"skip\" or \"cancel_old\""),
    [CATCH_UP] = M("catch_up", catch_up, 0, CATCH_UP_NKINDS, json_word, catch_ups,
                   " must be \"none\", \"last\" or \"all\""),
    [CATCH_UP_MOST] = M("catch_up_max", catch_up_max, 1, RECUR_MAKE_UP, json_whole, NULL,
                        " must be a whole number, 1 to 100"),
    [FROM] = M("from", from, 1, RECUR_AT_MAX, json_moment, NULL, " must be a moment in Unix seconds"),
    [UNTIL] = M("until", until, 1, RECUR_AT_MAX, json_moment, NULL, " must be a moment in Unix seconds"),
    [PAUSED] = M("paused", paused, 0, 0, json_truth, NULL, " must be true or false"),
    [TASK] = M("task", task, 0, 0, read_task, NULL, " must be an object"),
};

static void copy_slice(char *to, struct slice from)
{
    *text_put(to, from.p, from.n) = '\0';
}

static bool wrong(struct body_error *e, const char *why)
{
    return json_say(e, why, (struct slice){ 0 }, "");
}

/* Checks what only all members together say. */
static const char *whole_wrong(const struct schedule_body *b, uint64_t has, struct cron_error *ce)
{
    struct recur r = { .every_ms = b->every, .from_ms = b->from, .until_ms = b->until };
    char text[CRON_TEXT_MAX + 1], zone[ZONE_NAME_MAX + 1];

    if (((has >> CRON ^ has >> EVERY) & 1) == 0)
        return "a schedule needs cron or every, and not both";
    if ((has >> TASK & 1) == 0)
        return "task is missing";
    if ((has >> ZONE & 1) != 0 && (has >> CRON & 1) == 0)
        return "a zone is for cron; every counts in UTC";
    copy_slice(zone, b->zone);
    if (b->zone.n > 0 && !zone_name_ok(zone))
        return members[ZONE].must + 1;
    copy_slice(text, b->cron);
    return b->cron.n > 0 && !cron_read(&r.cron, text, ce) ? ce->text : recur_wrong(&r);
}

bool schedule_body_read(struct schedule_body *b, struct slice text, uint64_t may,
                        struct body_error *e)
{
    struct cron_error ce;
    uint64_t has = 0;
    const char *why;

    *b = (struct schedule_body){ .catch_up_max = SCHEDULE_CATCH_UP_MAX, .may = may, .e = e };
    if (!json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, text, b, &has, e))
        return false;
    why = whole_wrong(b, has, &ce);
    return why == NULL || wrong(e, why);
}

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
