/* test_task_body.c: what an operator is shown of a payload, and may give in its place. */
#include "queuemng/admin/task_body.h"

#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"
#include "tests/lib/criterion.h"

static struct call_span span(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

static json_t *shown(const void *p, size_t n, const char *endpoint, size_t most)
{
    const struct msg_task_get_ans m = { .no = 77, .state = TASK_DEAD, .queue = "q", .content_type = "" };
    const struct export_row x = { .group = "", .body = { (uint32_t)n, p } };
    const struct mng_part_view v = { .pool = "*", .node = "t1", .endpoint = endpoint, .st = { .part = 7 } };
    json_t *j = task_body_json(&m, &x, &v, most);

    cr_assert_not_null(j);
    return j;
}

static void expect_payload(json_t *j, const char *type, const char *encoding, const char *data, int length, bool cut)
{
    const json_t *b = json_object_get(j, "payload");

    cr_expect_str_eq(json_string_value(json_object_get(b, "content_type")), type);
    cr_expect_str_eq(json_string_value(json_object_get(b, "encoding")), encoding);
    cr_expect_str_eq(json_string_value(json_object_get(b, "data")), data);
    cr_expect_eq(json_integer_value(json_object_get(b, "length")), length);
    cr_expect_eq(json_is_true(json_object_get(b, "truncated")), cut);
    json_decref(j);
}

Test(task_body, text_is_text_and_bytes_are_base64)
{
    struct buf b;

    expect_payload(shown("[1.0]", 5, "", 99), "application/json", "text", "[1.0]", 5, false);
    expect_payload(shown("\"\xc3\xa4\xc3\xa4\"", 6, "", 2), "application/json", "text", "\"", 6, true);
    buf_init(&b);
    payload_pack(&b, span("image/png"), (struct call_span){ "\x89PNG\0", 5 });
    expect_payload(shown(b.data, b.len, "", 99), "image/png", "base64", "iVBORwA=", 5, false);
    buf_fini(&b);
    buf_init(&b);
    payload_pack(&b, span("text/plain"), (struct call_span){ "a\033[2Jb", 6 });
    expect_payload(shown(b.data, b.len, "", 99), "text/plain", "base64", "YRtbMkpi", 6, false);
    buf_fini(&b);
}

Test(task_body, of_a_call_the_body_is_shown_with_its_head_and_changed_without_it)
{
    const struct bytes_of given = { 2, (const uint8_t *)"{}" }, none = { 0 };
    struct buf form, other;
    struct bytes_of old;
    struct call c, before;
    json_t *j;

    buf_init(&form);
    buf_init(&other);
    call_pack_begin(&form, span("PUT"), span("/a?b"));
    call_pack_header(&form, span("Content-Type"), span("text/csv"));
    call_pack_header(&form, span("traceparent"), span("00-1"));
    call_pack_body(&form, span("1;2"));
    j = shown(form.data, form.len, "gen", 99);
    cr_expect_str_eq(json_string_value(json_object_get(json_object_get(j, "request"), "method")), "PUT");
    expect_payload(j, "text/csv", "text", "1;2", 3, false);
    old = (struct bytes_of){ (uint32_t)form.len, form.data };
    cr_assert_null(task_body_call(&other, &old, given));
    cr_assert_eq(call_unpack(other.data, other.len, &c), 0);
    cr_expect(c.body.n == 2 && memcmp(c.body.p, "{}", 2) == 0 && c.path.n == 4);
    cr_assert_eq(call_unpack(form.data, form.len, &before), 0);
    cr_expect_eq(c.headers.n, before.headers.n);
    cr_expect_not_null(task_body_call(&other, &none, given), "nothing is kept of it");
    buf_fini(&form);
    buf_fini(&other);
}

/* Header fields may have bytes that are no UTF-8 (RFC 9110, obs-text). */
Test(task_body, a_type_that_is_no_text_hides_no_payload)
{
    struct buf form;

    buf_init(&form);
    call_pack_begin(&form, span("POST"), span("/a"));
    call_pack_header(&form, span("Content-Type"), span("text/csv; by=M\xfcller"));
    call_pack_body(&form, span("1;2"));
    expect_payload(shown(form.data, form.len, "gen", 99), "", "text", "1;2", 3, false);
    buf_fini(&form);
}

/* The status, and what the request is read as. */
static int read_as(const char *body, struct task_ask *q, struct buf *room)
{
    struct admin_req req = { .body = (const uint8_t *)body, .body_len = strlen(body) };
    struct admin_ans a = { .status = 0 };
    struct admin_call c = { .q = &req, .a = &a };
    bool ok;

    *q = (struct task_ask){ .verb = DO_RESUBMIT };
    buf_init(room);
    buf_init(&a.body);
    ok = task_payload_read(&c, q, room);
    cr_expect_eq(ok, a.status == 0);
    buf_fini(&a.body);
    return a.status;
}

Test(task_body, a_payload_is_taken_as_it_stands)
{
    static const char *const wrong[] = {
        "", "7", "[]", "{}x", "{,}", "{\"payload\":1,\"payload\":2}", "{\"payload\":1,\"payload_base64\":\"MQ==\"}",
        "{\"payload\":1,\"content_type\":\"a/b\"}", "{\"payload_base64\":\"M\"}", "{\"payload\":1}x",
        "{\"payload_base64\":\"MQ==\",\"content_type\":\"png\"}", "{\"pay\":1}", "{\"payload\":01}",
        "{\"payload_base64\":\"Zm9v\",\"content_type\":\"application/json\"}",
    };
    struct task_ask q;
    struct buf room;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        cr_expect_eq(read_as(wrong[i], &q, &room), 400, "%s", wrong[i]);
        buf_fini(&room);
    }
    cr_assert_eq(read_as("{\"payload\": {\"a\":12345678901234567890.10} }", &q, &room), 0);
    cr_expect(!q.typed && q.bytes.n == 29 && memcmp(q.bytes.p, "{\"a\":12345678901234567890.10}", 29) == 0, "%zu", q.bytes.n);
    buf_fini(&room);
    cr_assert_eq(read_as("{\"payload_base64\":\"iVBORwA=\",\"content_type\":\"image/png\"}", &q, &room), 0);
    cr_expect(q.typed && q.type.n == 9 && q.bytes.n == 5 && memcmp(q.bytes.p, "\x89PNG\0", 5) == 0);
    buf_fini(&room);
    cr_assert_eq(read_as("{\"content_type\":\"application/json\",\"payload_base64\":\"e30=\"}", &q, &room), 0);
    cr_expect(!q.typed && q.bytes.n == 2);
    buf_fini(&room);
}

/* Clients that always send an object are from before a redrive had a body. */
Test(task_body, an_empty_object_is_a_redrive_without_a_payload)
{
    static const char *const empty[] = { "{}", " { }\n" };
    struct task_ask q;
    struct buf room;

    for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
        cr_expect_eq(read_as(empty[i], &q, &room), 0, "'%s'", empty[i]);
        cr_expect(q.verb == DO_REDRIVE && q.bytes.n == 0, "'%s'", empty[i]);
        buf_fini(&room);
    }
    cr_assert_eq(read_as("{\"payload\":{}}", &q, &room), 0);
    cr_expect(q.verb == DO_RESUBMIT && q.bytes.n == 2);
    buf_fini(&room);
}
