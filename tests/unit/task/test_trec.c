/* test_trec.c: every kind comes back as it was written, and nothing else is taken for one. */
#include "task/store/record.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/rng.h"

static struct trec draw(struct rng *g, uint8_t kind, char texts[4][32])
{
    struct trec r = { .kind = kind };
    struct trec_text *t[] = { &r.name, &r.key1, &r.key2, &r.rules };

#define U(m) r.m = rng_u64(g) >> rng_below(g, 64);
#define I(m) r.m = (int64_t)rng_u64(g) >> rng_below(g, 64);
#define T(m)
    TREC_MEMBERS(U, I, T)
#undef U
#undef I
#undef T
    for (unsigned i = 0; i < 4; i++) {
        t[i]->n = (uint32_t)rng_below(g, 32);
        t[i]->p = texts[i];
        for (unsigned k = 0; k < t[i]->n; k++)
            texts[i][k] = (char)rng_u64(g);
    }
    return r;
}

Test(trec, every_kind_comes_back)
{
    char texts[4][32];
    struct buf a, b;
    struct rng g;

    rng_seed(&g, 1);
    buf_init(&a);
    buf_init(&b);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t kind = (uint8_t)(1 + i % (TREC_NKINDS - 1));
        struct trec r = draw(&g, kind, texts), s;

        if (strcmp(trec_name(kind), "?") == 0)
            continue; /* a number that no kind has */
        buf_reset(&a);
        buf_reset(&b);
        trec_encode(&r, &a);
        cr_assert_eq(trec_decode(kind, a.data, a.len, &s), 0);
        trec_encode(&s, &b);
        cr_assert(a.len == b.len && memcmp(a.data, b.data, a.len) == 0, "%s", trec_name(kind));
        if (a.len > 0) {
            cr_assert_eq(trec_decode(kind, a.data, a.len - 1, &s), SQ_EPROTO, "cut");
            buf_byte(&a, 0);
            cr_assert_eq(trec_decode(kind, a.data, a.len, &s), SQ_EPROTO, "too long");
        }
    }
    buf_fini(&a);
    buf_fini(&b);
}

Test(trec, members_are_those_of_the_row)
{
    struct trec r = { .kind = TREC_START, .no = 77, .lease = 5, .until = 123456789012,
                      .order = 9 }, s;
    struct buf b;

    buf_init(&b);
    trec_append(&r, &b);
    cr_expect_eq(b.data[3], TREC_START);
    cr_expect_eq(b.data[0] + TREC_FRAME, b.len);
    cr_assert_eq(trec_decode(b.data[3], b.data + TREC_FRAME, b.len - TREC_FRAME, &s), 0);
    cr_expect(s.no == 77 && s.lease == 5 && s.until == 123456789012 && s.order == 0);
    buf_fini(&b);
}

Test(trec, unknown_kinds_and_garbage_are_refused)
{
    uint8_t junk[64];
    struct trec r;
    struct rng g;

    rng_seed(&g, 2);
    cr_expect_eq(trec_decode(0, junk, 0, &r), SQ_EUNKNOWN);
    cr_expect_eq(trec_decode(200, junk, 0, &r), SQ_EUNKNOWN);
    for (unsigned i = 0; i < 100000; i++) {
        size_t n = rng_below(&g, sizeof(junk));

        for (size_t k = 0; k < n; k++)
            junk[k] = (uint8_t)rng_u64(&g);
        (void)!trec_decode((uint8_t)rng_u64(&g), junk, n, &r); /* asan looks */
    }
    memset(junk, 0xff, sizeof(junk));
    cr_expect_eq(trec_decode(TREC_GONE, junk, 10, &r), SQ_EPROTO, "more than 64 bits");
    cr_expect_str_eq(trec_name(TREC_REDRIVE), "REDRIVE");
    cr_expect_str_eq(trec_name(99), "?");
}
