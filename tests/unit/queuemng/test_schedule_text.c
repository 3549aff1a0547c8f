/* test_schedule_text.c: a schedule's definition as an operator writes and changes it: byte for byte where nobody
 * changes it, refused by its field, and the same message that a router makes of it. */
#include "queuemng/admin/schedule_text.h"

#include <stdlib.h>
#include <string.h>

#include "common/submit/submission.h"
#include "common/wire/codec.h"
#include "tests/lib/criterion.h"

static struct schedule_row row(const char *text)
{
    return (struct schedule_row){ .name = "n", .why = "", .text = { (uint32_t)strlen(text), (const uint8_t *)text } };
}

static void expect_merged(const char *old, const char *patch, const char *want)
{
    struct schedule_row r = row(old);
    char *given = strdup(patch);
    struct buf b;
    bool only_paused;

    buf_init(&b);
    cr_assert_null(schedule_patch_wrong((struct slice){ given, strlen(given) }, &only_paused), "%s", patch);
    cr_assert_str_eq(given, patch, "looking changes nothing");
    schedule_merge(&b, &r, (struct slice){ given, strlen(given) });
    cr_expect(b.len == strlen(want) && memcmp(b.data, want, b.len) == 0, "%.*s", (int)b.len, (char *)b.data);
    buf_fini(&b);
    free(given);
}

Test(schedule_text, what_nobody_changes_stays_byte_for_byte)
{
    expect_merged("{\"every\": \"1h\", \"task\":{\"payload\":{\"n\":1.10, \"m\":12345678901234567890123}}}", "{\"paused\":true}",
                  "{\"every\":\"1h\",\"task\":{\"payload\":{\"n\":1.10, \"m\":12345678901234567890123}},\"paused\":true}");
    expect_merged("{\"every\":\"1h\",\"jitter\":\"1s\",\"task\":{}}", "{\"jitter\":null,\"every\":60}", "{\"every\":60,\"task\":{}}");
    expect_merged("{\"\\u0065very\":1,\"task\":{}}", "{\"pa\\u0075sed\":false,\"every\":2}",
                  "{\"every\":2,\"task\":{},\"paused\":false}");
    expect_merged("{\"every\":1,\"task\":{}}", "{}", "{\"every\":1,\"task\":{}}");
}

Test(schedule_text, what_is_no_change_is_said)
{
    static const char *const wrong[] = { "", "7", "[]", "{\"a\":1", "{\"a\":1}x", "{\"paused\":true,\"p\\u0061used\":false}",
                                         "{\"a\\\",\\\"cron\":1}", "{\"\":1}", "{\"a b\":1}" };
    bool only_paused;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char *text = strdup(wrong[i]);

        cr_expect_not_null(schedule_patch_wrong((struct slice){ text, strlen(text) }, &only_paused), "%s", wrong[i]);
        cr_expect_not(only_paused, "%s", wrong[i]);
        free(text);
    }
}

/* An operator may pause: whatever else stands beside it is an admin's, however it is written. */
Test(schedule_text, a_pause_is_known_as_one)
{
    static const char *const pause[] = { "{\"paused\":true}", " {\"p\\u0061used\" : null} " };
    static const char *const more[] = { "{}", "{\"paused\":true,\"cron\":\"@daily\"}", "{\"cron\":\"@daily\"}" };
    bool only_paused;

    for (size_t i = 0; i < ARRAY_LEN(pause); i++) {
        cr_expect_null(schedule_patch_wrong((struct slice){ (char *)(uintptr_t)pause[i], strlen(pause[i]) }, &only_paused));
        cr_expect(only_paused, "%s", pause[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        cr_expect_null(schedule_patch_wrong((struct slice){ (char *)(uintptr_t)more[i], strlen(more[i]) }, &only_paused));
        cr_expect_not(only_paused, "%s", more[i]);
    }
}

static void expect_changes(const char *was, const char *is, const char *want)
{
    struct schedule_row a = row(was != NULL ? was : ""), b = row(is != NULL ? is : "");
    json_t *j = schedule_changes(was != NULL ? &a : NULL, is != NULL ? &b : NULL);
    char *text = json_dumps(j, JSON_COMPACT);

    cr_expect_str_eq(text, want);
    free(text);
    json_decref(j);
}

Test(schedule_text, changes_are_told_from_what_to_what_but_not_what_is_submitted)
{
    expect_changes("{\"every\":\"1h\",\"task\":{}}", "{\"task\":{},\"every\":\"2h\",\"paused\":true}",
                   "[{\"key\":\"every\",\"from\":\"1h\",\"to\":\"2h\"},{\"key\":\"paused\",\"from\":null,\"to\":true}]");
    expect_changes(NULL, "{\"every\":1}", "[{\"key\":\"every\",\"from\":null,\"to\":1}]");
    expect_changes("{\"every\":1}", NULL, "[{\"key\":\"every\",\"from\":1,\"to\":null}]");
    expect_changes("{\"every\":1}", "{\"every\":1}", "[]");
    expect_changes("{\"task\":{\"payload\":\"secret\"}}", "{\"task\":{\"payload\":\"hidden\"}}",
                   "[{\"key\":\"task\",\"from\":\"20 bytes (0d3d8f)\",\"to\":\"20 bytes (9f594f)\"}]");
}

Test(schedule_text, a_viewer_is_not_shown_what_is_submitted)
{
    struct schedule_row r = row("{\"every\":1,\"task\":{\"payload\":99999999999999999999}}");
    json_t *all = schedule_definition(&r, true), *some = schedule_definition(&r, false);

    cr_expect(json_is_object(json_object_get(all, "task")), "also where a number is longer than ours");
    cr_expect(json_object_size(some) == 1 && json_integer_value(json_object_get(some, "every")) == 1);
    json_decref(all);
    json_decref(some);
}

static struct buf packed;
static struct schedule_refusal no;

static int pack(const char *text, const struct schedule_place *at)
{
    char *copy = strdup(text);
    int rc;

    buf_reset(&packed);
    rc = schedule_pack(&packed, at, (struct slice){ copy, strlen(copy) }, &no);
    cr_assert_str_eq(copy, text, "it is kept as it was written");
    free(copy);
    return rc;
}

Test(schedule_text, it_becomes_the_message_that_defines_it)
{
    const struct schedule_place at = { "q/1", "nightly", "q/*", "", { .pointer = "" }, 100, 7 };
    const char *text = "{\"cron\":\"@daily\",\"zone\":\"Europe/Berlin\",\"task\":{\"payload\":[1.0],\"key\":\"t/u\","
                       "\"cost\":7,\"unique\":{\"key\":\"x\"},\"labels\":[\"a\",\"b\"]}}";
    struct arena mem;
    struct msg m;
    const struct msg_task_schedule *k = &m.task_schedule;

    buf_init(&packed);
    arena_init(&mem);
    cr_assert_eq(pack(text, &at), 0, "%s", no.text);
    cr_assert_eq(msg_decode(MSG_TASK_SCHEDULE, packed.data, packed.len, &mem, &m), 0);
    cr_expect(k->verb == SCHEDULE_PUT && strcmp(k->queue, "q/1") == 0 && strcmp(k->name, "nightly") == 0);
    cr_expect(strcmp(k->cron, "@daily") == 0 && strcmp(k->zone, "Europe/Berlin") == 0 && k->every_ms == 0);
    cr_expect(k->text.n == strlen(text) && memcmp(k->text.p, text, k->text.n) == 0);
    cr_expect(k->put.body.n == 5 && memcmp(k->put.body.p, "[1.0]", 5) == 0);
    cr_expect(strcmp(k->put.key1, "t") == 0 && strcmp(k->put.key2, "u") == 0 && strcmp(k->put.own.labels, "a,b") == 0);
    cr_expect(k->put.unique.n == 1 && k->put.unique_while == UNIQUE_RUNNING && own_cost(&k->put.own) == 7);
    cr_expect_eq(k->put.digest, submit_digest((struct slice){ (char *)(uintptr_t)"[1.0]", 5 }, false));
    arena_fini(&mem);
    buf_fini(&packed);
}

Test(schedule_text, what_cannot_be_is_refused_by_its_field_and_range)
{
    const struct schedule_place workers = { "q", "n", "q", "", { .pointer = "" }, 8, 7 };
    const struct schedule_place calls = { "q", "n", "q", "gen", { .pointer = "/n", .least = 1, .most = 100 }, 0, 7 };
    static const struct { const char *text, *why; int status; bool is_call; } rows[] = {
        { "{\"every\":1}", "task is missing", 400, false },
        { "{\"every\":\"1ms\",\"task\":{}}", "every must be a time such as \"15m\", of 1 second to 400 days", 400, false },
        { "{\"every\":1,\"task\":{\"name\":\"x\"}}", "task: unknown member name", 400, false },
        { "{\"every\":1,\"task\":{\"payload\":123456789}}", "task: its payload has 9 bytes: at most 8 (max_body of pool q)", 413, false },
        { "{\"every\":1,\"task\":{\"payload\":1,\"cost\":8}}", "task: it has 8 units: at most 7 (max_cost of pool q)", 400, false },
        { "{\"every\":1,\"task\":{\"path\":\"/\"}}",
          "task: path, method, headers and body are for queues with an endpoint; this one has none: payload", 400, false },
        { "{\"every\":1,\"task\":{\"payload\":1}}", "task: path is missing: the tasks of this queue are calls to its endpoint", 400, true },
        { "{\"every\":1,\"task\":{\"path\":\"/\",\"body_json\":{\"n\":9}}}", "task: it has 9 units: at most 7 (max_cost of pool q)", 400, true },
    };

    buf_init(&packed);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_expect_lt(pack(rows[i].text, rows[i].is_call ? &calls : &workers), 0, "%s", rows[i].text);
        cr_expect_str_eq(no.text, rows[i].why, "%s", rows[i].text);
        cr_expect_eq(no.status, rows[i].status, "%s", rows[i].text);
    }
    buf_fini(&packed);
}
