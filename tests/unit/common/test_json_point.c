/* test_json_point.c: values by pointers, and put into a form; what is none of either. */
#include "common/json/json_point.h"

#include <stdio.h>

#include "tests/lib/criterion.h"

static struct slice text(const char *s)
{
    return (struct slice){ (char *)(uintptr_t)s, strlen(s) };
}

static void finds(const char *json, const char *pointer, const char *want)
{
    struct slice v = { 0 };

    cr_assert_eq(json_point(text(json), text(pointer), &v), JSON_POINT_FOUND, "%s", pointer);
    cr_expect(text_is(v.p, v.n, want), "%s: %.*s", pointer, (int)v.n, v.p);
}

static void fails(const char *json, const char *pointer, enum json_point want)
{
    struct slice v;

    cr_expect_eq(json_point(text(json), text(pointer), &v), want, "%s of %s", pointer, json);
}

Test(json_point, values_are_found_as_they_stand)
{
    const char *doc = " {\"foo\": [\"bar\", {\"x\" : 1e400 }], \"\": 0, \"a/b\": 1, \"m~n\": 8, \"\\u0063\": [ 2 ]} ";

    finds(doc, "", "{\"foo\": [\"bar\", {\"x\" : 1e400 }], \"\": 0, \"a/b\": 1, \"m~n\": 8, \"\\u0063\": [ 2 ]}");
    finds(doc, "/foo/0", "\"bar\"");
    finds(doc, "/foo/1/x", "1e400");
    finds(doc, "/", "0");
    finds(doc, "/a~1b", "1");
    finds(doc, "/m~0n", "8");
    finds(doc, "/c", "[ 2 ]");
    finds("7", "", "7");
}

Test(json_point, what_is_not_there_or_twice_is_not_found)
{
    fails("{\"a\":[1]}", "/b", JSON_POINT_NOTHING);
    fails("{\"a\":[1]}", "/a/1", JSON_POINT_NOTHING);
    fails("{\"a\":[1]}", "/a/00", JSON_POINT_NOTHING);
    fails("{\"a\":[1]}", "/a/-", JSON_POINT_NOTHING);
    fails("{\"a\":[1]}", "/a/0/x", JSON_POINT_NOTHING);
    fails("{\"a\":1,\"\\u0061\":2}", "/a", JSON_POINT_TWICE);
    fails("{\"a\":1", "/a", JSON_POINT_NO_JSON);
    fails("plain words", "", JSON_POINT_NO_JSON);
    fails("", "", JSON_POINT_NO_JSON);
    fails("{\"a\":1}", "a", JSON_POINT_NOTHING);
    fails("{\"a\":1}", "/a~2", JSON_POINT_NOTHING);
}

static void fills(const char *form, const char *result, const char *want)
{
    const char *why;
    struct buf b;

    buf_init(&b);
    cr_assert_geq(json_holes(text(form), &why), 0);
    cr_assert_eq(json_fill(text(form), text(result), 1000, &b), JSON_POINT_FOUND);
    cr_expect(text_is((char *)b.data, b.len, want), "%.*s", (int)b.len, (char *)b.data);
    buf_fini(&b);
}

static enum json_point begins(const char *text, const char *pointer, struct slice *v)
{
    return json_point_begin((struct slice){ (char *)(uintptr_t)text, strlen(text) },
                            (struct slice){ (char *)(uintptr_t)pointer, strlen(pointer) }, v);
}

Test(json_point, of_the_begin_of_a_text_only_what_is_whole_is_there)
{
    struct slice v;

    cr_expect_eq(begins(" {\"model\": \"a\", \"m\":[{\"u\":\"xx", "/model", &v), JSON_POINT_FOUND);
    cr_expect(v.n == 3 && memcmp(v.p, "\"a\"", 3) == 0);
    cr_expect_eq(begins("{\"max\":10", "/max", &v), JSON_POINT_NOTHING, "perhaps it is 100");
    cr_expect_eq(begins("{\"max\":10,", "/max", &v), JSON_POINT_FOUND);
    cr_expect_eq(begins("{\"model\":\"a", "/model", &v), JSON_POINT_NOTHING);
    cr_expect_eq(begins("{\"a\":{\"b\":1},\"c\"", "/a/b", &v), JSON_POINT_FOUND);
    cr_expect_eq(begins("{\"a\":{\"b\":1,\"c\":", "/a/b", &v), JSON_POINT_NOTHING, "it may be there twice");
    cr_expect_eq(begins("{\"a\":1,\"a\":2,\"c", "/a", &v), JSON_POINT_TWICE);
    cr_expect_eq(begins("{\"a\":1,\"a\\", "/a", &v), JSON_POINT_FOUND);
    cr_expect_eq(begins("--boundary", "/a", &v), JSON_POINT_NO_JSON);
    cr_expect_eq(begins("", "/a", &v), JSON_POINT_NO_JSON);
}

Test(json_point, results_stand_in_holes_byte_for_byte)
{
    fills("{\"a\":{\"$result\":\"/x\"}, \"b\":[{\"$result\":\"\"} ,1]}", " {\"x\": 0.10}",
          "{\"a\":0.10, \"b\":[{\"x\": 0.10} ,1]}");
    fills("{\"$result\":\"\"}", "\"{\\\"$result\\\":1}\"", "\"{\\\"$result\\\":1}\"");
    fills("{\"\\u0024result\":\"/a\"}", "{\"a\":null}", "null");
    fills("{\"a\":\"{\\\"$result\\\":\\\"\\\"}\"}", "1", "{\"a\":\"{\\\"$result\\\":\\\"\\\"}\"}");
    fills("{\"a\":\"\\\\\",\"b\":{\"$result\":\"\"}}", "1", "{\"a\":\"\\\\\",\"b\":1}");
    fills(" [1] ", "nonsense is not read without a hole", "[1]");
}

Test(json_point, holes_that_are_none_are_said)
{
    static const char *const wrong[] = {
        "{\"$result\":1}", "{\"$result\":\"x\"}", "{\"$result\":\"\",\"a\":1}", "{\"a\":1,\"b\":2,\"$result\":\"\"}",
        "[{\"a\":{\"$result\":\"/~\"}}]", "{", "",
    };
    const char *why;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        cr_expect_eq(json_holes(text(wrong[i]), &why), -1, "%s", wrong[i]);
        cr_expect_not_null(why);
    }
    cr_expect_eq(json_holes(text("[{\"$result\":\"\"},{\"$result\":\"/a\"},{\"$results\":1}]"), &why), 2);
}

/* Each is a walk through all of the result: many of them would hold the process up. */
Test(json_point, holes_are_so_many_at_most)
{
    static char form[32 * (JSON_HOLES_MAX + 1)];
    const char *why;
    size_t n = 1;

    form[0] = '[';
    for (unsigned i = 0; i <= JSON_HOLES_MAX; i++) {
        if (i > 0)
            form[n - 1] = ',';
        n += (size_t)sprintf(form + n, "{\"\\u0024result\":\"\"}]");
        cr_expect_eq(json_holes((struct slice){ form, n }, &why), i < JSON_HOLES_MAX ? (int)i + 1 : -1);
    }
    cr_expect_eq(strncmp(why, "at most 64", 10), 0, "%s", why);
}

Test(json_point, what_cannot_be_filled_says_why)
{
    struct buf b;

    buf_init(&b);
    cr_expect_eq(json_fill(text("[{\"$result\":\"/a\"}]"), text("{}"), 99, &b), JSON_POINT_NOTHING);
    cr_expect_eq(json_fill(text("[{\"$result\":\"\"}]"), text("OK"), 99, &b), JSON_POINT_NO_JSON);
    buf_reset(&b);
    cr_expect_eq(json_fill(text("[{\"$result\":\"\"}]"), text("12345"), 6, &b), JSON_POINT_LONG);
    buf_reset(&b);
    cr_expect_eq(json_fill(text("[{\"$result\":\"\"}]"), text("12345"), 7, &b), JSON_POINT_FOUND);
    buf_fini(&b);
}
