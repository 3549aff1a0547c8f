/* test_buf.c: appending, numbers, consuming, and the failure that sticks. */
#include "common/base/buf.h"

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
