/* test_task_export.c: a task as it would be submitted again. */
#include "queuemng/admin/task_body.h"

#include <string.h>

#include "common/task/call.h"
#include "tests/lib/criterion.h"

static const struct token_key key = { .mac = { 7 } };

/* The submission; NULL: there is none, and `why` is. */
static json_t *submit_of(const struct msg_task_get_ans *m, const struct export_row *x, const char *endpoint)
{
    const struct mng_part_view p = { .pool = "*", .node = "t1", .endpoint = endpoint, .st = { .part = 7 } };
    json_t *row = task_export_json(m, x, &p, &key), *submit;
    const char *text = json_string_value(json_object_get(row, "submit"));

    cr_assert_not_null(row);
    cr_expect_eq(text == NULL, json_object_get(row, "why") != NULL);
    submit = text != NULL ? json_loads(text, 0, NULL) : NULL;
    cr_assert(text == NULL || submit != NULL, "%s", text);
    json_decref(row);
    return submit;
}

static struct export_row with_body(const void *p, size_t n)
{
    return (struct export_row){ .group = "", .body = { (uint32_t)n, p } };
}

Test(task_export, a_task_has_its_payload_and_a_key_that_is_always_the_same)
{
    const struct msg_task_get_ans m = { .no = 77, .state = TASK_RETRYING, .queue = "q", .key1 = "a", .key2 = "b",
                                        .until_ms = 1500, .priority = 2 };
    struct export_row x = with_body("[1.0]", 5);
    json_t *one, *two;

    x.attempts_left = 3;
    one = submit_of(&m, &x, "");
    two = submit_of(&m, &x, "");
    cr_expect(json_equal(one, two));
    cr_expect_eq(strncmp(json_string_value(json_object_get(one, "idempotency_key")), "moved-7-77-", 11), 0);
    cr_expect_str_eq(json_string_value(json_object_get(one, "key")), "a/b");
    cr_expect_eq(json_number_value(json_object_get(one, "at")), 1.5);
    cr_expect_eq(json_integer_value(json_object_get(one, "max_attempts")), 3);
    cr_expect_eq(json_number_value(json_array_get(json_object_get(one, "payload"), 0)), 1.0);
    json_decref(one);
    json_decref(two);
}

Test(task_export, a_payload_that_is_no_json_has_its_type)
{
    const struct msg_task_get_ans m = { .no = 77, .state = TASK_WAITING, .queue = "q", .key1 = "", .key2 = "" };
    const struct call_span type = { "image/png", 9 }, bytes = { "\x89PNG", 4 };
    struct export_row x;
    struct buf form;
    json_t *j;

    buf_init(&form);
    payload_pack(&form, type, bytes);
    x = with_body(form.data, form.len);
    j = submit_of(&m, &x, "");
    cr_expect_str_eq(json_string_value(json_object_get(j, "payload_base64")), "iVBORw==");
    cr_expect_str_eq(json_string_value(json_object_get(j, "content_type")), "image/png");
    cr_expect_null(json_object_get(j, "payload"));
    json_decref(j);
    buf_fini(&form);
}

Test(task_export, what_cannot_be_carried_says_why)
{
    const struct msg_task_get_ans m = { .no = 77, .state = TASK_WAITING, .queue = "q", .key1 = "", .key2 = "" };
    const struct call_span method = { "POST", 4 }, path = { "/a", 2 };
    struct call_file f = { .length = 1u << 20, .upload = 5 };
    struct export_row x;
    struct buf form;
    json_t *j;

    buf_init(&form);
    call_pack_begin(&form, method, path);
    call_pack_body(&form, (struct call_span){ "ab", 2 });
    x = with_body(form.data, form.len);
    j = submit_of(&m, &x, "gen");
    cr_expect_str_eq(json_string_value(json_object_get(j, "body_base64")), "YWI=");
    json_decref(j);
    x.lacks = EXPORT_UNREAD;
    cr_expect_null(submit_of(&m, &x, "gen"), "its payload is lost");
    buf_reset(&form);
    call_pack_begin(&form, method, path);
    call_pack_file(&form);
    call_pack_file_end(form.data, form.len, &f);
    x = with_body(form.data, form.len);
    cr_expect_null(submit_of(&m, &x, "gen"), "it has a file of its own");
    x = with_body("??", 2);
    cr_expect_null(submit_of(&m, &x, "gen"), "no form");
    buf_fini(&form);
}
