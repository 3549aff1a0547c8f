/* test_result.c: results are kept whole or cut, with what they were. */
#include "task/node/body.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *made(uint32_t n)
{
    uint8_t *p = malloc(n + 1);

    cr_assert_not_null(p);
    for (uint32_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 7 + (i >> 9));
    return p;
}

Test(result, has_its_first_bytes_and_the_length_and_hash_of_all)
{
    static const struct { uint32_t n, most; } v[] = {
        { 1, 100 }, { 100, 100 }, { 101, 100 }, { 100, 0 }, { TASK_RESULT_MAX, TASK_RESULT_MAX },
        { TASK_BODY_MAX, TASK_RESULT_MAX },
    };

    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        uint8_t *p = made(v[i].n), hash[crypto_hash_sha256_BYTES];
        struct result r;
        struct buf b;

        buf_init(&b);
        crypto_hash_sha256(hash, p, v[i].n);
        result_pack(p, v[i].n, v[i].most, &b);
        cr_assert_eq(result_unpack(b.data, b.len, &r), 0);
        cr_expect_eq(r.n, v[i].n < v[i].most ? v[i].n : v[i].most);
        cr_expect_eq(r.length, v[i].n);
        cr_expect_eq(memcmp(r.sha256, hash, sizeof(hash)), 0);
        cr_expect_eq(memcmp(r.p, p, r.n), 0);
        buf_fini(&b);
        free(p);
    }
}

Test(result, a_short_one_that_is_whole_costs_a_byte_more)
{
    struct buf b;

    buf_init(&b);
    result_pack((const uint8_t *)"true", 4, 4, &b);
    cr_expect_eq(b.len, 5);
    buf_fini(&b);
}

/* As nodes wrote all of them once. */
Test(result, one_of_an_older_node_has_its_hash_with_it)
{
    uint8_t old[RESULT_HEAD_CUT + 4] = { 1, 4 };
    struct result r;

    memset(old + 9, 0xab, RESULT_SHA256);
    memcpy(old + RESULT_HEAD_CUT, "true", 4);
    cr_assert_eq(result_unpack(old, sizeof(old), &r), 0);
    cr_expect_eq(r.n, 4);
    cr_expect_eq(r.length, 4);
    cr_expect_eq(memcmp(r.p, "true", 4), 0);
    cr_expect_eq(memcmp(r.sha256, old + 9, RESULT_SHA256), 0);
}

Test(result, what_was_not_packed_is_refused)
{
    static const struct { uint8_t form; uint32_t head; } v[] = {
        { 1, RESULT_HEAD_CUT }, { 2, RESULT_HEAD_WHOLE },
    };
    uint8_t *p = calloc(1, RESULT_HEAD_CUT + TASK_RESULT_MAX + 1);
    struct result r;

    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        p[0] = v[i].form;
        p[3] = 0xff; /* of a cut one: length */
        cr_expect_eq(result_unpack(p, v[i].head - 1, &r), SQ_EPROTO);
        cr_expect_eq(result_unpack(p, v[i].head, &r), 0);
        cr_expect_eq(result_unpack(p, v[i].head + TASK_RESULT_MAX, &r), 0);
        cr_expect_eq(result_unpack(p, v[i].head + TASK_RESULT_MAX + 1, &r), SQ_EPROTO);
    }
    cr_expect_eq(result_unpack(NULL, 0, &r), SQ_EPROTO);
    p[0] = 1;
    p[3] = 0; /* it had none, and has some */
    cr_expect_eq(result_unpack(p, RESULT_HEAD_CUT + 1, &r), SQ_EPROTO);
    p[0] = 3;
    cr_expect_eq(result_unpack(p, RESULT_HEAD_CUT, &r), SQ_EPROTO);
    free(p);
}
