/* test_json_row.c: structs as JSON and back, by one list of fields. */
#include "queuemng/state/records.h"

#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/ticket/pass.h"

struct thing {
    uint8_t small;
    uint32_t middle;
    uint64_t large;
    int64_t time;
    bool flag, truth;
    char text[8];
    uint8_t hex[4];
    struct pass_others keys;
};

#define F(kind, member) ROW_FIELD(#member, kind, struct thing, member)
#define ALL                                                                              \
    F(ROW_UINT, small), F(ROW_UINT, middle), F(ROW_UINT, large), F(ROW_TIME, time),      \
        F(ROW_FLAG, flag), F(ROW_BOOL, truth), F(ROW_TEXT, text), F(ROW_HEX, hex),       \
        F(ROW_KEYS, keys)
static const struct json_row object = ROW_OBJECT(ALL), array = ROW_ARRAY(ALL);
#define SOME F(ROW_UINT, small), ROW_OPTIONAL("middle", ROW_UINT, struct thing, middle)
static const struct json_row short_object = ROW_OBJECT(SOME), short_array = ROW_ARRAY(SOME);

static struct thing sample(void)
{
    struct thing t = { 255, UINT32_MAX, INT64_MAX, -5, true, false, "ab\"c", { 0, 1, 0xfe, 9 },
                       { .n = 2 } };

    memset(t.keys.key[0], 0x11, sizeof(t.keys.key[0]));
    memset(t.keys.key[1], 0xa2, sizeof(t.keys.key[1]));
    return t;
}

static int read_text(const struct json_row *r, const char *text, struct thing *t)
{
    json_t *j = json_loads(text, JSON_DECODE_ANY, NULL);
    int rc = json_row_read(r, j, t);

    json_decref(j);
    return rc;
}

static void there_and_back(const struct json_row *r)
{
    struct thing was = sample(), is = { 0 };
    json_t *j = json_row_write(r, &was);

    cr_assert_eq(json_row_read(r, j, &is), 0);
    json_decref(j);
    cr_assert_eq(is.small, was.small);
    cr_assert_eq(is.middle, was.middle);
    cr_assert_eq(is.large, was.large);
    cr_assert_eq(is.time, was.time);
    cr_assert(is.flag && !is.truth);
    cr_assert_str_eq(is.text, was.text);
    cr_assert_arr_eq(is.hex, was.hex, sizeof(is.hex));
    cr_assert_eq(is.keys.n, 2);
    cr_assert_arr_eq(is.keys.key, was.keys.key, sizeof(is.keys.key));
}

Test(json_row, every_kind_is_read_as_it_was_written)
{
    there_and_back(&object);
    there_and_back(&array);
}

Test(json_row, arrays_hold_the_columns_in_the_order_of_the_list)
{
    struct thing v[] = { { .small = 3, .middle = 4 }, { .small = 5, .middle = 6 } };
    json_t *j = json_rows_write(&short_array, v, 2, sizeof(v[0]));
    char *text = json_dumps(j, JSON_COMPACT);

    cr_assert_str_eq(text, "[[3,4],[5,6]]");
    free(text);
    json_decref(j);
}

Test(json_row, missing_optional_fields_stay_as_they_are)
{
    struct thing t = { .middle = 7 };

    cr_assert_eq(read_text(&short_array, "[3]", &t), 0);
    cr_assert_eq(read_text(&short_object, "{\"small\":4,\"news\":1}", &t), 0);
    cr_assert(t.small == 4 && t.middle == 7);
}

Test(json_row, refuses_what_does_not_fit_its_field)
{
    static const char *const bad[] = { "[256]", "[-1]", "[\"1\"]", "[1.5]",  "[]",
                                       "{}",    "3",    "null",    "[1,\"x\"]",
                                       "[1,4294967296]" };
    struct thing t;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(read_text(&short_array, bad[i], &t), SQ_EPROTO, "%s", bad[i]);
    cr_expect_eq(json_row_read(&short_array, NULL, &t), SQ_EPROTO);
    cr_expect_eq(read_text(&short_object, "[1]", &t), SQ_EPROTO);
}

Test(json_row, refuses_a_text_that_is_too_long)
{
    const struct json_row of_text = ROW_ARRAY(F(ROW_TEXT, text));
    struct thing t;

    cr_expect_eq(read_text(&of_text, "[\"1234567\"]", &t), 0);
    cr_expect_eq(read_text(&of_text, "[\"12345678\"]", &t), SQ_EPROTO);
}

Test(json_row, refuses_hex_of_another_length)
{
    const struct json_row of_hex = ROW_ARRAY(F(ROW_HEX, hex));
    const struct json_row of_keys = ROW_ARRAY(F(ROW_KEYS, keys));
    struct thing t;

    cr_expect_eq(read_text(&of_hex, "[\"000102\"]", &t), SQ_EPROTO);
    cr_expect_eq(read_text(&of_hex, "[\"0001020304\"]", &t), SQ_EPROTO);
    cr_expect_eq(read_text(&of_hex, "[\"0001020g\"]", &t), SQ_EPROTO);
    cr_expect_eq(read_text(&of_keys, "[\"0001\"]", &t), SQ_EPROTO);
    cr_expect_eq(read_text(&of_keys, "[\"\"]", &t), 0);
    cr_expect_eq(t.keys.n, 0);
}
