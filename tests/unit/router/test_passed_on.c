/* test_passed_on.c: the header fields of a target's answer, in an answer of ours. */
#include "tests/lib/criterion.h"

#include "common/task/call.h"
#include "router/task_api/result.h"

static struct buf fields, got;
static struct msg_task_get_ans m;

static void field(const char *name, const char *value)
{
    call_pack_header(&fields, (struct call_span){ name, strlen(name) },
                     (struct call_span){ value, strlen(value) });
    m.fields = (struct bytes_of){ (uint32_t)fields.len, fields.data };
}

static const char *lines(const char *url, bool of_file)
{
    buf_reset(&got);
    passed_on_fields(&got, &m, &(struct passed_from){ "gen", url }, of_file);
    buf_byte(&got, 0);
    return (const char *)got.data;
}

static void fini(void)
{
    buf_fini(&fields);
    buf_fini(&got);
}

static const char *location(const char *url, const char *value)
{
    buf_reset(&fields);
    field("location", value);
    return lines(url, false);
}

TestSuite(passed_on, .fini = fini);

Test(passed_on, fields_are_said_again_as_they_came)
{
    field("ETag", "\"7\"");
    field("Content-Disposition", "inline");
    field("X-Empty", "");
    cr_expect_str_eq(lines("", false), "ETag: \"7\"\r\nContent-Disposition: inline\r\nX-Empty: \r\n");
    cr_expect_str_eq(lines("", true), "ETag: \"7\"\r\nX-Empty: \r\n");
    cr_expect_not(passed_on_location(&m));
    m.fields_cut = true;
    cr_expect_not_null(strstr(lines("", true), "\r\nsegq-headers-truncated: true\r\n"));
}

Test(passed_on, what_comes_garbled_is_not_said)
{
    field("ETag", "1");
    field("X", "a");
    fields.data[fields.len - 1] = '\n';
    cr_expect_str_eq(lines("", false), "");
    m.fields.n--;
    cr_expect_str_eq(lines("", false), "");
}

Test(passed_on, a_location_at_the_endpoint_leads_back_through_us)
{
    static const struct {
        const char *url, *value, *is;
    } v[] = {
        { "http://gen:9000", "http://gen:9000/img/7?x=1", "/v1/call/gen/img/7?x=1" },
        { "http://gen:9000", "http://GEN:9000", "/v1/call/gen/" },
        { "http://gen", "http://gen:80/a", "/v1/call/gen/a" },
        { "http://gen", "/a#b", "/v1/call/gen/a#b" },
        { "http://gen", "/", "/v1/call/gen/" },
        { "http://gen/v2", "/v2/a", "/v1/call/gen/a" },
        { "http://gen/v2", "/v2?a", "/v1/call/gen/?a" },
        { "http://gen/v2", "http://gen/v2", "/v1/call/gen/" },
        { "http://gen/v2", "/v22/a", "/v22/a" },
        { "http://gen/v2", "http://gen/a", "http://gen/a" },
        { "http://gen/v2", "http://gen", "http://gen" },
        { "http://gen", "https://gen/a", "https://gen/a" },
        { "http://gen", "http://gen:81/a", "http://gen:81/a" },
        { "http://gen", "http://gen.evil/a", "http://gen.evil/a" },
        { "http://gen", "http://gen@evil/a", "http://gen@evil/a" },
        { "http://gen", "//gen/a", "//gen/a" },
        { "http://gen", "a/b", "a/b" },
        { "http://gen", "", "" },
        { "", "http://gen/a", "http://gen/a" },
    };
    char want[100];

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        snprintf(want, sizeof(want), "location: %s\r\n", v[i].is);
        cr_expect_str_eq(location(v[i].url, v[i].value), want, "%s of %s", v[i].value, v[i].url);
        cr_expect(passed_on_location(&m));
    }
}
