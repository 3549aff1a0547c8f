/* test_buf.c: appending, numbers, consuming, and the failure that sticks; texts that are read (text.h). */
#include "common/base/buf.h"
#include "common/base/text.h"

#include "tests/lib/criterion.h"
#include <sys/resource.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void expect(const struct buf *b, const char *want)
{
    cr_expect_eq(b->len, strlen(want));
    cr_expect_eq(memcmp(b->data, want, b->len), 0, "%.*s", (int)b->len, (char *)b->data);
}

Test(buf, appends)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "a=");
    buf_u64(&b, UINT64_MAX);
    buf_byte(&b, ' ');
    buf_i64(&b, INT64_MIN);
    buf_append(&b, " x", 2);
    buf_append(&b, NULL, 0);
    buf_printf(&b, " %s-%03d", "y", 7);
    expect(&b, "a=18446744073709551615 -9223372036854775808 x y-007");
    buf_reset(&b);
    buf_u64(&b, 0);
    buf_i64(&b, -1);
    buf_i64(&b, 12);
    expect(&b, "0-112");
    buf_fini(&b);
}

/* Around each power of ten, and between them. */
Test(buf, numbers_are_written_as_printf_writes_them)
{
    struct buf b;
    char want[32];

    buf_init(&b);
    for (unsigned digits = 0; digits < 20; digits++) {
        uint64_t power = 1;

        for (unsigned i = 0; i < digits; i++)
            power *= 10;
        for (int64_t d = -300; d < 300; d++) {
            uint64_t v = power + (uint64_t)(d * (d % 7 == 0 ? 1234567 : 1));

            buf_reset(&b);
            buf_u64(&b, v);
            snprintf(want, sizeof(want), "%" PRIu64, v);
            expect(&b, want);
        }
    }
    buf_fini(&b);
}

Test(buf, growing_keeps_the_content)
{
    struct buf b;

    buf_init(&b);
    for (unsigned i = 0; i < 100000; i++)
        buf_byte(&b, (uint8_t)(i * 7));
    cr_assert_eq(b.len, 100000);
    for (unsigned i = 0; i < 100000; i++)
        cr_assert_eq(b.data[i], (uint8_t)(i * 7));
    buf_fini(&b);
}

Test(buf, consumes_from_the_front)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "headbody");
    buf_consume(&b, 4);
    expect(&b, "body");
    buf_consume(&b, 99);
    cr_expect_eq(b.len, 0);
    buf_fini(&b);
}

Test(buf, a_failure_sticks_until_reset)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "kept");
    cr_expect_null(buf_reserve(&b, SIZE_MAX - 1));
    cr_expect(b.failed);
    buf_str(&b, "lost");
    buf_printf(&b, "%d", 1);
    expect(&b, "kept");
    buf_reset(&b);
    buf_str(&b, "new");
    cr_expect_not(b.failed);
    expect(&b, "new");
    buf_fini(&b);
}

/* With an address space that may not grow. */
Test(buf, memory_is_spare_as_long_as_there_is_some)
{
    struct rlimit was, low;

    cr_assert(memory_is_spare(MEMORY_SPARE));
    cr_assert_eq(getrlimit(RLIMIT_AS, &was), 0);
    low = was;
    low.rlim_cur = 1;
    cr_assert_eq(setrlimit(RLIMIT_AS, &low), 0);
#ifndef __SANITIZE_ADDRESS__
    cr_expect_not(memory_is_spare((size_t)1 << 30));
#endif
    cr_assert_eq(setrlimit(RLIMIT_AS, &was), 0);
    cr_expect(memory_is_spare(MEMORY_SPARE));
}

/* ---- texts that are read ---- */

static int64_t number(const char *text, uint64_t most)
{
    return decimal_read(text, strlen(text), most);
}

Test(buf, a_number_is_digits_alone)
{
    static const char *const none[] = { "", " 1", "1 ", "+1", "-1", "-0", "0x1", "1.0", "1e3", "/", ":", "1\xb2", "\xd9\xa1" };

    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        cr_expect_eq(number(none[i], UINT64_MAX), -1, "\"%s\"", none[i]);
    cr_expect_eq(decimal_read(NULL, 0, 9), -1);
    cr_expect_eq(decimal_read("1\0", 2, 99), -1, "0 is no end, but a byte");
    cr_expect_eq(decimal_read("123", 2, 99), 12, "no byte more");
    cr_expect_eq(number("0", 0), 0);
    cr_expect_eq(number("00000000000000000000000000000065535", 65535), 65535);
    cr_expect_eq(number("65536", 65535), -1);
}

/* What would be a small number again, had it gone round. */
Test(buf, no_number_goes_round)
{
    static const uint64_t most[] = { 0, 9, 12, 99, 65535, UINT32_MAX, 1000000000000000000u };
    static const char *const large[] = { "1000000000000000001", "4294967296000000000", "9223372036854775808",
                                         "18446744073709551615", "18446744073709551616", "18446744073709551625",
                                         "99999999999999999999999999999999999999999", "340282366920938463463374607431768211457" };

    for (size_t i = 0; i < ARRAY_LEN(most); i++)
        for (size_t k = 0; k < ARRAY_LEN(large); k++)
            cr_expect_eq(number(large[k], most[i]), -1, "%s, at most %" PRIu64, large[k], most[i]);
    cr_expect_eq(number("999999999999999999", UINT64_MAX), 999999999999999999, "18 digits have no need of a bound");
    cr_expect_eq(number("1000000000000000000", 1000000000000000000u), 1000000000000000000);
}

/* In all of 256, also those that are below 0 as a char. */
Test(buf, letters_and_digits_are_those_of_ascii)
{
    static const char plain[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char c[3] = "a?";

    for (unsigned i = 0; i < 256; i++) {
        bool letter = i != 0 && strchr(plain, (int)i) != NULL;

        c[1] = (char)i;
        cr_expect_eq(char_is_of(c[1], ""), letter, "%u", i);
        cr_expect_eq(text_is_of(c, 2, "-_."), letter || i == '-' || i == '_' || i == '.', "%u", i);
    }
    cr_expect(text_is_of("", 0, "") && text_is_of(NULL, 0, ""));
    cr_expect(text_is_of("ab!", 2, ""), "no byte more");
}

Test(buf, parts_of_addresses_are_escaped)
{
    static const char text[] = "aZ09-_.~/ %&=+?#\"\r\n\x7f\x80\xc3\xbf";
    struct buf b;

    buf_init(&b);
    buf_escaped(&b, text, sizeof(text), "-_.~/"); /* with its 0 */
    expect(&b, "aZ09-_.~/%20%25%26%3D%2B%3F%23%22%0D%0A%7F%80%C3%BF%00");
    buf_reset(&b);
    buf_escaped(&b, "~/", 2, "");
    buf_escaped(&b, NULL, 0, "");
    expect(&b, "%7E%2F");
    buf_fini(&b);
}

Test(buf, blanks_at_the_ends_are_spaces_and_tabs)
{
    static const char *const v[][2] = { { "", "" }, { " \t ", "" }, { "a", "a" }, { " \ta b\t ", "a b" },
                                        { "\ra\n", "\ra\n" }, { " \xc2\xa0 ", "\xc2\xa0" }, { "\v", "\v" } };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect(slice_is(slice_trim(slice_of(v[i][0])), v[i][1]), "%zu", i);
    cr_expect_eq(slice_trim((struct slice){ 0 }).n, 0);
}
