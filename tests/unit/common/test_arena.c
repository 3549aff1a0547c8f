/* test_arena.c: zeroed, aligned, disjoint; reset keeps one chunk. */
#include "common/base/memory.h"

#include "tests/lib/criterion.h"
#include <string.h>

Test(arena, gives_zeroed_aligned_disjoint_memory)
{
    struct arena a;
    uint8_t *p[300];

    arena_init(&a);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < ARRAY_LEN(p); i++) {
            p[i] = arena_alloc(&a, i);
            cr_assert_not_null(p[i]);
            cr_assert_eq((uintptr_t)p[i] % 16, 0);
            for (unsigned k = 0; k < i; k++)
                cr_assert_eq(p[i][k], 0);
            memset(p[i], 0xa5 ^ (int)i, i);
        }
        for (unsigned i = 0; i < ARRAY_LEN(p); i++)
            for (unsigned k = 0; k < i; k++)
                cr_assert_eq(p[i][k], (uint8_t)(0xa5 ^ i));
        arena_reset(&a);
    }
    arena_fini(&a);
}

Test(arena, copies)
{
    struct arena a;

    arena_init(&a);
    cr_expect_str_eq(arena_strdup(&a, "hello"), "hello");
    cr_expect_str_eq(arena_strndup(&a, "hello", 2), "he");
    cr_expect_str_eq(arena_strndup(&a, "h", 20), "h");
    cr_expect_eq(memcmp(arena_memdup(&a, "a\0b", 3), "a\0b", 3), 0);
    cr_expect_not_null(arena_memdup(&a, NULL, 0));
    arena_fini(&a);
}

Test(arena, impossible_sizes_fail)
{
    struct arena a;

    arena_init(&a);
    cr_expect_null(arena_alloc(&a, SIZE_MAX - 3));
    cr_expect(a.failed);
    arena_reset(&a);
    cr_expect_not(a.failed);
    cr_expect_null(arena_array(&a, SIZE_MAX / 4, 8));
    cr_expect(a.failed);
    cr_expect_not_null(arena_array(&a, 4, 8));
    arena_fini(&a);
}

Test(arena, reset_gives_a_huge_turn_back)
{
    struct arena a;

    arena_init(&a);
    cr_expect_not_null(arena_alloc(&a, 100));
    arena_reset(&a);
    cr_expect_not_null(a.chunk);
    cr_expect_not_null(arena_alloc(&a, 8u << 20));
    arena_reset(&a);
    cr_expect_null(a.chunk);
    arena_fini(&a);
}

Test(arena, a_text_of_no_bytes_may_be_nowhere)
{
    struct arena a;

    arena_init(&a);
    cr_expect_str_eq(arena_strndup(&a, NULL, 0), "");
    arena_fini(&a);
}
