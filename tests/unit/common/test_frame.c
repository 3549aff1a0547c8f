/* test_frame.c: frames survive being cut anywhere; bad lengths and versions are refused
 * from the header alone. */
#include "tests/lib/criterion.h"
#include <string.h>

#include "common/wire/codec.h"

static size_t build(uint8_t *out, uint16_t type, uint64_t rid, const char *body)
{
    size_t n = strlen(body);

    frame_header(out, type, 3, rid, (uint32_t)n);
    memcpy(out + FRAME_HEADER_BYTES, body, n);
    return FRAME_HEADER_BYTES + n;
}

Test(frame, round_trip)
{
    uint8_t b[64];
    struct frame f;
    size_t n = build(b, 0x1234, 0x1122334455667788u, "hello");

    cr_assert_eq(frame_parse(b, n, 100, &f), (int64_t)n);
    cr_expect_eq(f.type, 0x1234);
    cr_expect_eq(f.flags, 3);
    cr_expect_eq(f.version, FRAME_VERSION);
    cr_expect_eq(f.rid, 0x1122334455667788u);
    cr_expect_eq(f.len, 5u);
    cr_expect_eq(memcmp(f.body, "hello", 5), 0);
}

Test(frame, little_endian_on_the_wire)
{
    static const uint8_t want[16] = {
        5, 0, 0, 0, 1, 3, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1
    };
    uint8_t b[64];

    build(b, 0x1234, 0x0102030405060708u, "hello");
    cr_expect_eq(memcmp(b, want, sizeof(want)), 0);
}

Test(frame, wants_more_at_every_cut)
{
    uint8_t b[64];
    struct frame f;
    size_t n = build(b, 7, 1, "abcdef");

    for (size_t k = 0; k < n; k++)
        cr_assert_eq(frame_parse(b, k, 100, &f), 0, "cut at %zu", k);
    cr_expect_eq(frame_need(b, 3), (size_t)FRAME_HEADER_BYTES);
    cr_expect_eq(frame_need(b, 4), n);
}

Test(frame, two_in_a_row)
{
    uint8_t b[128];
    struct frame f;
    size_t n1 = build(b, 1, 1, "first"), n2 = build(b + n1, 2, 2, "");

    cr_assert_eq(frame_parse(b, n1 + n2, 100, &f), (int64_t)n1);
    cr_assert_eq(frame_parse(b + n1, n2, 100, &f), (int64_t)n2);
    cr_expect_eq(f.type, 2);
    cr_expect_eq(f.len, 0u);
}

Test(frame, length_is_refused_before_the_body_comes)
{
    uint8_t b[FRAME_HEADER_BYTES];
    struct frame f;

    frame_header(b, 1, 0, 0, 101);
    cr_expect_eq(frame_parse(b, 4, 100, &f), SQ_ETOOBIG);
    cr_expect_eq(frame_parse(b, 4, 101, &f), 0);
    frame_header(b, 1, 0, 0, UINT32_MAX);
    cr_expect_eq(frame_parse(b, sizeof(b), FRAME_MAX_BODY, &f), SQ_ETOOBIG);
}

Test(frame, other_version_is_refused_at_its_byte)
{
    uint8_t b[FRAME_HEADER_BYTES];
    struct frame f;

    frame_header(b, 1, 0, 0, 10);
    b[4] = FRAME_VERSION + 1;
    cr_expect_eq(frame_parse(b, 4, 100, &f), 0);
    cr_expect_eq(frame_parse(b, 5, 100, &f), SQ_EPROTO);
}
