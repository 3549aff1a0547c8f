/* test_replica_bytes.c: what stands inside the rows of REPLICA and SEEN, and 512 bits. */
#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/rng.h"
#include "common/ticket/pace.h"
#include "common/wire/replica_bytes.h"

static uint8_t bytes[1 << 16];

Test(replica_bytes, dead_numbers_come_back)
{
    static const uint32_t v[] = { 7, 8, 9, 500, 70000, 4294967293u };
    struct bytes_in in = { bytes, bytes };
    uint32_t next = 7, n;

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        in.end = dead_put((uint8_t *)(uintptr_t)in.end, &next, v[i]);
    cr_expect_eq(in.end - in.p, 3 + 2 + 3 + 5);
    next = 7;
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        cr_assert(dead_get(&in, &next, 4294967294u, &n));
        cr_expect_eq(n, v[i]);
    }
    cr_expect_eq(in.p, in.end);
}

Test(replica_bytes, a_dead_number_is_below_the_end)
{
    uint8_t *end = varint_put(bytes, 3);
    uint32_t next = 5, n;

    cr_expect(dead_get(&(struct bytes_in) { bytes, end }, &next, 9, &n) && n == 8 && next == 9);
    cr_expect(!dead_get(&(struct bytes_in) { bytes, end }, &next, 9, &n));
    next = 5;
    cr_expect(!dead_get(&(struct bytes_in) { bytes, end }, &next, 8, &n));
    next = 9;
    cr_expect(!dead_get(&(struct bytes_in) { bytes, end }, &next, 4, &n), "behind the end");
    next = 0;
    cr_expect(!dead_get(&(struct bytes_in) { bytes, varint_put(bytes, 1ull << 32) }, &next,
                        UINT32_MAX, &n));
    cr_expect(!dead_get(&(struct bytes_in) { bytes, bytes }, &next, UINT32_MAX, &n));
}

Test(replica_bytes, runs_of_lines_come_back)
{
    struct lines_run r;
    uint32_t next = 0;
    uint8_t *end = lines_put(bytes, &next, 3, 2, 1);
    struct bytes_in in = { bytes, NULL };

    memset(end, 0xaa, 64);
    end = lines_put(end + 64, &next, 6, 4, 0);
    in.end = lines_put(end, &next, 200, 0, 0);
    next = 0;
    cr_assert(lines_get(&in, &next, 200, &r));
    cr_expect(r.first == 3 && r.full == 2 && r.n == 1 && r.bits[63] == 0xaa);
    cr_assert(lines_get(&in, &next, 200, &r));
    cr_expect(r.first == 6 && r.full == 4 && r.n == 0);
    cr_assert(lines_get(&in, &next, 200, &r));
    cr_expect(r.first == 200 && in.p == in.end);
}

Test(replica_bytes, lines_beyond_the_end_are_refused)
{
    struct lines_run r;
    uint32_t next = 0;
    uint8_t *end = lines_put(bytes, &next, 1, 2, 1) + 64;

#define GET(from, stop, n_blocks)                                                        \
    (next = (from), lines_get(&(struct bytes_in) { bytes, (stop) }, &next, (n_blocks), &r))
    cr_expect(GET(0, end, 4));
    cr_expect(!GET(0, end, 3));
    cr_expect(!GET(1, end, 4));
    cr_expect(!GET(UINT32_MAX, end, UINT32_MAX));
    cr_expect(!GET(0, end - 1, 4), "bits cut short");
    cr_expect(!GET(0, bytes + 2, 4), "a run cut short");
#undef GET
}

Test(replica_bytes, marks_come_back)
{
    static const uint32_t v[] = { 0, 5, 3, 4294967295u, 0, 1000000 };
    struct bytes_in in = { bytes, bytes };
    uint32_t last = 0;
    uint8_t told;

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        in.end = mark_put((uint8_t *)(uintptr_t)in.end, &last, v[i], (uint8_t)(40 * i));
    last = 0;
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        cr_assert(mark_get(&in, &last, &told));
        cr_expect(last == v[i] && told == 40 * i);
    }
    cr_expect(in.p == in.end && !mark_get(&in, &last, &told));
    last = 3;
    cr_expect(!mark_get(&(struct bytes_in) { bytes, varint_put(bytes, 6) }, &last, &told), "no class");
    cr_expect(!mark_get(&(struct bytes_in) { bytes, varint_put(bytes, 7) + 1 }, &last, &told),
              "below 0");
}

Test(replica_bytes, a_told_class_is_never_less_and_hardly_more)
{
    struct rng r;

    rng_seed(&r, 1);
    cr_expect_eq(pace_class_ms(pace_class(0)), 1);
    cr_expect_eq(pace_class_ms(pace_class(UINT32_MAX)), UINT32_MAX);
    for (unsigned c = 1; c < UINT8_MAX; c++)
        cr_expect_geq(pace_class_ms((uint8_t)c), pace_class_ms((uint8_t)(c - 1)));
    for (unsigned i = 0; i < 100000; i++) {
        uint32_t ms = (uint32_t)(rng_u64(&r) >> (33 + rng_below(&r, 31))), is;

        is = pace_class_ms(pace_class(ms));
        cr_assert(is >= ms && is <= ms + ms * 0.0906 + 1, "%u: %u", ms, is);
    }
}

Test(bits512, rank_set_clear_and_runs_agree)
{
    uint64_t v[BITS512_WORDS] = { 0 }, sub = 0;
    struct rng r;

    rng_seed(&r, 2);
    for (unsigned k = 0; k < 20000; k++) {
        unsigned i = (unsigned)rng_below(&r, BITS512_N), from, end, n = 0;

        (bits512_has(v, i) ? bits512_clear : bits512_set)(v, &sub, i);
        cr_assert_eq(sub, bits512_subs(v));
        from = (unsigned)rng_below(&r, BITS512_N + 1);
        end = from + (unsigned)rng_below(&r, BITS512_N + 1 - from);
        for (unsigned w = 0; w < BITS512_WORDS; w++)
            n += bits64(bits512_run(w, from, end));
        cr_assert_eq(n, end - from);
        for (unsigned j = n = 0; j < i; j++)
            n += bits512_has(v, j);
        cr_assert_eq(bits512_rank(v, sub, i), n);
    }
}
