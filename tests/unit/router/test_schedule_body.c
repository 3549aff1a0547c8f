/* test_schedule_body.c: paths and bodies of schedules: what is read, what is refused and how it is
 * said; what a task node says of them, as the API says it. */
#include "router/task_api/answer.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/submit/submission.h"
#include "router/task_api/path.h"

#define MAY (WITH(PAYLOAD) | WITH(KEY) | WITH(PATH) | WITH(LABELS))

static struct schedule_body b;
static struct body_error e;

static bool read_body(const char *json)
{
    static char text[1000];

    snprintf(text, sizeof(text), "%s", json);
    return schedule_body_read(&b, (struct slice){ text, strlen(text) }, MAY, &e);
}

Test(schedule_body, all_members)
{
    cr_assert(read_body("{\"cron\":\"0 3 * * mon-fri\", \"zone\":\"Europe/Berlin\", \"jitter\":\"30s\","
                        "\"overlap\":\"cancel_old\", \"catch_up\":\"all\", \"catch_up_max\":7,"
                        "\"from\":1800000000, \"until\":1900000000, \"paused\":true,"
                        "\"task\":{\"key\":\"t7\",\"payload\":{\"a\": 1}}}"), "%s", e.text);
    cr_expect(b.cron.n == 15 && memcmp(b.cron.p, "0 3 * * mon-fri", 15) == 0);
    cr_expect(b.zone.n == 13 && b.jitter == 30000 && b.every == 0 && b.paused);
    cr_expect(b.overlap == OVERLAP_CANCEL_OLD && b.catch_up == CATCH_UP_ALL && b.catch_up_max == 7);
    cr_expect(b.from == 1800000000000 && b.until == 1900000000000);
    cr_expect(b.task.payload.n == 8 && memcmp(b.task.payload.p, "{\"a\": 1}", 8) == 0);
    cr_assert(read_body("{\"task\":{\"payload\":1},\"every\":\"15m\"}"), "%s", e.text);
    cr_expect(b.every == 900000 && b.catch_up == CATCH_UP_NONE && b.overlap == OVERLAP_ALLOW);
    cr_expect_eq(b.catch_up_max, SCHEDULE_CATCH_UP_MAX);
}

Test(schedule_body, what_is_wrong_is_said)
{
    static const char *const rows[][2] = {
        { "", "" },
        { "[]", "" },
        { "{\"every\":1}", "task is missing" },
        { "{\"task\":{}}", "a schedule needs cron or every, and not both" },
        { "{\"task\":{},\"every\":1,\"cron\":\"@daily\"}", "a schedule needs cron or every, and not both" },
        { "{\"task\":{},\"every\":\"500ms\"}", "every must be a time such as \"15m\", of 1 second to 400 days" },
        { "{\"task\":{},\"every\":1.5}", "every must be 1 second to 400 days, in whole seconds" },
        { "{\"task\":{},\"every\":1,\"zone\":\"UTC\"}", "a zone is for cron; every counts in UTC" },
        { "{\"task\":{},\"cron\":\"* * * * 9\"}", "cron: day of the week: 9 is not in 0-7" },
        { "{\"task\":{},\"cron\":7}", "cron must be a string of five fields, or @daily and its like" },
        { "{\"task\":{},\"cron\":\"@daily\",\"zone\":\"../etc\"}",
          "zone must be a time zone's name, such as \"Europe/Berlin\"" },
        { "{\"task\":7,\"every\":1}", "task must be an object" },
        { "{\"task\":{\"name\":\"x\"},\"every\":1}", "task: unknown member name" },
        { "{\"task\":{\"key\":\"\"},\"every\":1}",
          "task: key must be one or two levels (a/b), each of 1 to 64 visible ASCII characters" },
        { "{\"task\":{},\"every\":1,\"every\":2}", "every is there twice" },
        { "{\"task\":{},\"every\":1,\"evry\":2}", "unknown member evry; did you mean every?" },
        { "{\"task\":{},\"every\":1,\"overlap\":\"kill\"}",
          "overlap must be \"allow\", \"skip\" or \"cancel_old\"" },
        { "{\"task\":{},\"every\":1,\"catch_up_max\":101}", "catch_up_max must be a whole number, 1 to 100" },
        { "{\"task\":{},\"every\":1,\"paused\":\"no\"}", "paused must be true or false" },
        { "{\"task\":{},\"every\":1,\"from\":9,\"until\":8}", "until is before from" },
        { "{\"task\":{},\"every\":1,\"jitter\":\"2d\"}", "jitter must be a time such as \"30s\", of a day at most" },
        { "{\"task\":{},\"every\":1} x", "" },
        { "{\"task\":{\"payload\":[1,}},\"every\":1}", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_expect_not(read_body(rows[i][0]), "%s", rows[i][0]);
        if (rows[i][1][0] != '\0')
            cr_expect_str_eq(e.text, rows[i][1], "%s", rows[i][0]);
        cr_expect(e.text[0] != '\0', "%s", rows[i][0]);
    }
}

static enum task_op op_of(enum http_method m, const char *rest, struct task_path *p)
{
    static char text[200];

    snprintf(text, sizeof(text), "%s", rest);
    task_path_schedule(p, m, (struct slice){ text, strlen(text) });
    return p->op;
}

Test(schedule_path, the_last_part_is_its_name_nothing_is_the_list)
{
    struct task_path p;

    cr_expect_eq(op_of(HTTP_PUT, "ride/7/nightly", &p), TASK_PUT_SCHEDULE);
    cr_expect(p.queue.n == 6 && p.name.n == 7);
    cr_expect_eq(op_of(HTTP_GET, "images/nightly", &p), TASK_GET_SCHEDULE);
    cr_expect_eq(op_of(HTTP_DELETE, "images/Every_5.min", &p), TASK_DELETE_SCHEDULE);
    cr_expect_eq(op_of(HTTP_GET, "images/", &p), TASK_LIST_SCHEDULES);
    cr_expect_eq(op_of(HTTP_PUT, "images/", &p), TASK_BAD_METHOD);
    cr_expect_eq(op_of(HTTP_POST, "images/nightly", &p), TASK_BAD_METHOD);
    cr_expect_eq(op_of(HTTP_POST, "ride/7/nightly/run", &p), TASK_RUN_SCHEDULE);
    cr_expect(p.queue.n == 6 && p.name.n == 7);
    cr_expect_eq(op_of(HTTP_GET, "images/run", &p), TASK_GET_SCHEDULE);
    cr_expect_eq(op_of(HTTP_POST, "images/run", &p), TASK_NO_PATH, "no schedule is named");
    for (const char *const *bad = (const char *const[]){ "", "/", "images", "/x", "Images/x", "a/tasks/x",
                                                         "images/-x", "images/a b", NULL };
         *bad != NULL; bad++)
        cr_expect_eq(op_of(HTTP_GET, *bad, &p), TASK_NO_PATH, "%s", *bad);
}

static void expect_answer(enum schedule_verb verb, const struct msg_task_schedule_ans *m, const char *json)
{
    static const struct token_key key;
    struct api_ans a;

    memset(&a, 0, sizeof(a));
    schedule_answer(&a, verb, (struct slice){ (char *)(uintptr_t)"images", 6 }, "nightly", m, 3, &key);
    buf_byte(&a.body, '\0');
    cr_expect_str_eq((const char *)a.body.data, json);
    buf_fini(&a.body);
    buf_fini(&a.headers);
}

Test(schedule_answer, what_is_known_of_one)
{
    int64_t next[] = { 1800000060000, 1800000120000 };
    struct schedule_row row = { .name = "nightly", .n_next = 2, .next_ms = next, .why = "",
                                .last_ms = 1800000000000, .outcome = TICK_SKIPPED,
                                .fired_ms = 1799999940000, .no = 7,
                                .text = { 2, (const uint8_t *)"{}" } };
    struct msg_task_schedule_ans m = { .why = "", .n = 1, .v = &row };

    expect_answer(SCHEDULE_GET, &m,
                  "{\"schedule\":\"nightly\",\"next\":[1800000060,1800000120],"
                  "\"last\":{\"tick\":1800000000,\"outcome\":\"skipped\"},"
                  "\"task\":{\"tick\":1799999940},\"definition\":{}}");
    row = (struct schedule_row){ .name = "nightly", .why = "its zone is not known" };
    expect_answer(SCHEDULE_LIST, &m,
                  "{\"queue\":\"images\",\"schedules\":[{\"schedule\":\"nightly\",\"next\":[],"
                  "\"why\":\"its zone is not known\"}]}");
    m.fresh = true;
    expect_answer(SCHEDULE_PUT, &m, "{\"queue\":\"images\",\"schedule\":\"nightly\"}");
}

Test(schedule_answer, codes_are_problems)
{
    struct msg_task_schedule_ans m = { .why = "minute: 61 is not in 0-59" };

    cr_expect_eq(schedule_outcome(CODE_UNKNOWN, SCHEDULE_GET, &m).problem, API_SCHEDULE_UNKNOWN);
    cr_expect_eq(schedule_outcome(CODE_UNKNOWN, SCHEDULE_PUT, &m).problem, API_QUEUE_NOT_FOUND);
    cr_expect_str_eq(schedule_outcome(CODE_INVALID, SCHEDULE_PUT, &m).detail, m.why);
    cr_expect_eq(schedule_outcome(CODE_FULL, SCHEDULE_PUT, &m).status, 409);
    cr_expect_eq(schedule_outcome(CODE_DONE, SCHEDULE_GET, &m).status, 503, "a row is missing");
    cr_expect_eq(schedule_outcome(CODE_SAME, SCHEDULE_PUT, &m).status, 200);
}

Test(schedule_answer, a_deletion_that_one_pool_has_not_confirmed_is_not_done)
{
    cr_expect_eq(schedule_deleted(CODE_DONE, CODE_UNKNOWN), CODE_DONE);
    cr_expect_eq(schedule_deleted(CODE_UNKNOWN, CODE_DONE), CODE_DONE);
    cr_expect_eq(schedule_deleted(CODE_UNKNOWN, CODE_UNKNOWN), CODE_UNKNOWN);
    cr_expect_eq(schedule_deleted(CODE_DONE, ASK_NOBODY), ASK_LOST);
    cr_expect_eq(schedule_deleted(CODE_UNKNOWN, ASK_NOBODY), ASK_NOBODY);
    cr_expect_eq(schedule_deleted(CODE_BUSY, CODE_DONE), CODE_BUSY);
}
