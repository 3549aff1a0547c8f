/* test_codec.c: every message to bytes and back; damaged bodies; the hand-written columns
 * against generated code. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "codec_same.h"
#include "common/wire/codec.h"
#include "common/wire/frame.h"
#include "proto/router_segment.pb-c.h"

static const uint16_t types[] = {
#define X(name, number, ...) number,
    MSG_TYPES(X)
#undef X
};

static bool is_hello(uint16_t t)
{
    return t < MSG_ERROR; /* rpc.c's own, not protobuf */
}

static struct gen *gen_new(uint64_t seed, uint32_t max_rows)
{
    struct gen *g = calloc(1, sizeof(*g));

    rng_seed(&g->r, seed);
    g->max_rows = max_rows;
    return g;
}

static void gen_free(struct gen *g)
{
    arena_fini(&g->a);
    free(g);
}

/* Which fields of a generated message are not zero. */
static void note_fields(const ProtobufCMessage *pb, bool *seen)
{
    for (unsigned i = 0; i < pb->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &pb->descriptor->fields[i];
        const void *at = (const char *)pb + f->offset;

        if (f->type == PROTOBUF_C_TYPE_BYTES)
            seen[i] |= ((const ProtobufCBinaryData *)at)->len != 0;
        else if (f->type == PROTOBUF_C_TYPE_INT64 || f->type == PROTOBUF_C_TYPE_UINT64)
            seen[i] |= *(const uint64_t *)at != 0;
        else
            seen[i] |= *(const uint32_t *)at != 0;
    }
}

static void all_fields_are_written(enum msg_type t, const ProtobufCMessageDescriptor *d)
{
    bool seen[40] = { false };
    struct gen *g = gen_new(t, 4);
    struct buf b;

    buf_init(&b);
    cr_assert_leq(d->n_fields, ARRAY_LEN(seen));
    for (int i = 0; i < 100; i++) {
        ProtobufCMessage *pb;
        struct msg m;

        gen_msg(g, t, &m);
        buf_reset(&b);
        cr_assert_eq(msg_encode(&m, &b), 0);
        pb = protobuf_c_message_unpack(d, NULL, b.len, b.data);
        cr_assert_not_null(pb);
        note_fields(pb, seen);
        protobuf_c_message_free_unpacked(pb, NULL);
    }
    for (unsigned i = 0; i < d->n_fields; i++)
        cr_expect(seen[i], "%s: nothing is ever in %s", msg_name(t), d->fields[i].name);
    buf_fini(&b);
    gen_free(g);
}

Test(codec, plain_messages_write_each_field_of_the_proto)
{
#define X(NAME, name, Pb) all_fields_are_written(MSG_##NAME, &segq__##name##__descriptor);
    MSG_FLATS(X)
#undef X
}

Test(codec, every_type_comes_back_the_same)
{
    struct buf b, b2;
    struct arena a;

    buf_init(&b);
    buf_init(&b2);
    arena_init(&a);
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct gen *g = gen_new(seed, seed < 100 ? 4 : 2048);

        for (size_t i = 0; i < ARRAY_LEN(types); i++) {
            struct msg m, back;

            if (is_hello(types[i]))
                continue;
            gen_msg(g, types[i], &m);
            buf_reset(&b);
            cr_assert_eq(msg_encode(&m, &b), 0, "seed %lu %s", seed, msg_name(m.type));
            cr_assert_eq(msg_decode(m.type, b.data, b.len, &a, &back), 0, "seed %lu %s", seed,
                         msg_name(m.type));
            cr_assert(same_msg(&m, &back), "seed %lu %s", seed, msg_name(m.type));
            buf_reset(&b2);
            cr_assert_eq(msg_encode(&back, &b2), 0);
            cr_assert(b.len == b2.len && same_bytes(b.data, b2.data, b.len));
            arena_reset(&a);
        }
        gen_free(g);
    }
    arena_fini(&a);
    buf_fini(&b);
    buf_fini(&b2);
}

/* An exact copy on the heap, so that a read beyond its end is seen by ASan. */
static int decode_copy(uint16_t type, const uint8_t *p, size_t n, struct arena *a)
{
    uint8_t *copy = malloc(n + 1);
    struct msg m;
    int rc;

    if (n != 0)
        memcpy(copy, p, n);
    rc = msg_decode(type, copy, n, a, &m);
    arena_reset(a);
    free(copy);
    return rc;
}

Test(codec, any_truncation_or_flip_is_survived)
{
    struct gen *g = gen_new(99, 6);
    struct arena a;
    struct buf b;

    arena_init(&a);
    buf_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct msg m;

        if (is_hello(types[i]))
            continue;
        gen_msg(g, types[i], &m);
        buf_reset(&b);
        cr_assert_eq(msg_encode(&m, &b), 0);
        for (size_t n = 0; n < b.len; n++)
            (void)decode_copy(types[i], b.data, n, &a);
        for (size_t k = 0; k < 2000 && b.len > 0; k++) {
            size_t at = rng_below(&g->r, b.len);
            uint8_t was = b.data[at];

            b.data[at] = (uint8_t)rng_u64(&g->r);
            (void)decode_copy(types[i], b.data, b.len, &a);
            b.data[at] = was;
        }
    }
    buf_fini(&b);
    arena_fini(&a);
    gen_free(g);
}

Test(codec, unknown_types_have_a_name)
{
    struct arena a;
    struct buf b;
    struct msg m = { .type = MSG_NONE };

    arena_init(&a);
    buf_init(&b);
    cr_expect_eq(msg_encode(&m, &b), SQ_EUNKNOWN);
    for (unsigned t = 0; t < 200; t++)
        if (strcmp(msg_name(t), "?") == 0 || is_hello(t))
            cr_expect_eq(msg_decode(t, (const uint8_t *)"", 0, &a, &m), SQ_EUNKNOWN);
    cr_expect_eq(msg_decode(65535, (const uint8_t *)"", 0, &a, &m), SQ_EUNKNOWN);
    cr_expect_str_eq(msg_name(MSG_PLACE_ANS), "PLACE_ANS");
    buf_fini(&b);
    arena_fini(&a);
}

static int decode_text(uint16_t type, const char *bytes, size_t n)
{
    struct arena a;
    int rc;

    arena_init(&a);
    rc = decode_copy(type, (const uint8_t *)bytes, n, &a);
    arena_fini(&a);
    return rc;
}
#define DECODE(type, lit) decode_text(type, lit, sizeof(lit) - 1)

Test(codec, columns_must_agree)
{
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x02\x01\x02\x12\x02\x05\x06\x1a\x02\x01\x02"), 0);
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x02\x01\x02\x12\x02\x05\x06"), 0, "absent = zeros");
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x02\x01\x02\x12\x01\x05"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x02\x01\x02\x12\x03\x05\x05\x05"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x01\x01\x12\x01\x05\x1a\x01\x03"), SQ_EPROTO, "enum");
    cr_expect_eq(DECODE(MSG_PLACE, "\x12\x01\x05"), SQ_EPROTO, "no rows");
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x01\x81"), SQ_EPROTO, "varint cut short");
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x01\x01\x12\x05\x80\x80\x80\x80\x10"), SQ_EPROTO,
                 "more than 32 bits");
    cr_expect_eq(DECODE(MSG_PLACE, "\x08\x01\x08\x02\x10\x05\x10\x06"), 0, "not packed");
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x01\x01\x7a\x01\x55\x12\x01\x05"), 0, "unknown field");
    cr_expect_eq(DECODE(MSG_PLACE, "\x0a\x01\x01\x7b"), SQ_EPROTO, "a group");
    cr_expect_eq(DECODE(MSG_PLACE_ANS, "\x0a\x01\x01"), SQ_EPROTO, "admitted, no pass");
    cr_expect_eq(DECODE(MSG_PLACE_ANS, "\x0a\x01\x01\x2a\x01p"), 0);
    cr_expect_eq(DECODE(MSG_PLACE_ANS, "\x0a\x01\x00\x2a\x01p"), SQ_EPROTO, "pass of nobody");
    cr_expect_eq(DECODE(MSG_PLACE_ANS, "\x0a\x01\x06"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_SEG_AHEAD, "\x12\x02\x01\x02\x1a\x01\x05"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_COPY_TOUCH, "\x1a\x01\x01\x22\x01\x02"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_COPY_CHUNK, "\x1a\x02\x08\x01"), SQ_EPROTO, "no bitmap");
}

Test(codec, text_and_numbers_are_checked)
{
    cr_expect_eq(DECODE(MSG_ERROR, "\x1a\x03" "abc"), 0);
    cr_expect_eq(DECODE(MSG_ERROR, "\x1a\x03" "a\0c"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_SEG_OPEN, "\x28\x01"), 0);
    cr_expect_eq(DECODE(MSG_SEG_OPEN, "\x28\x04"), SQ_EPROTO, "kind");
    cr_expect_eq(DECODE(MSG_SEG_OPEN, "\x28\x03\x30\x05\x52\x01\x04\x5a\x01\x05"), 0);
    cr_expect_eq(DECODE(MSG_SEG_OPEN, "\x28\x03\x30\x05\x52\x01\x04\x5a\x01\x04"), SQ_EPROTO,
                 "nobody was released");
    cr_expect_eq(DECODE(MSG_SEG_OPEN, "\x28\x03\x30\x05\x52\x01\x04\x5a\x01\x06"), SQ_EPROTO,
                 "above its capacity");
    cr_expect_eq(DECODE(MSG_SEG_OPEN, "\x28\x01\x20\x08"), SQ_EPROTO, "lane");
    cr_expect_eq(DECODE(MSG_SEG_OPEN, "\x28\x81\x02"), SQ_EPROTO, "kind 257 is not 1");
    cr_expect_eq(DECODE(MSG_NODE_REG, "\x32\x01x"), SQ_EPROTO, "key length");
#define KEY32 "\x32\x20" "0123456789abcdef0123456789abcdef"
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x0a\x03" "a:1"), 0);
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x0a\x03" "a 1"), SQ_EPROTO, "address");
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x12\x03" "a\n1"), SQ_EPROTO, "admin");
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x12\x03" "a\"1"), SQ_EPROTO, "admin");
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x3a\x20" "0123456789abcdef0123456789abcdef"), 0);
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x3a\x01x"), SQ_EPROTO, "other keys");
#undef KEY32
}

Test(codec, too_much_is_refused_on_both_sides)
{
    static struct place_req req[MSG_BATCH_MAX + 1];
    struct msg m = { .type = MSG_PLACE, .place = { MSG_BATCH_MAX + 1, req } };
    uint8_t body[2 + 2 + MSG_BATCH_MAX + 1] = { 0x0a, 0x81, 0x02 };
    char name[80];
    struct buf b;

    buf_init(&b);
    cr_expect_eq(msg_encode(&m, &b), SQ_ETOOBIG);
    cr_expect_eq(b.len, 0);
    cr_expect_eq(decode_text(MSG_PLACE, (char *)body, 3 + 257), SQ_EPROTO);
    body[1] = 0x80;
    cr_expect_eq(decode_text(MSG_PLACE, (char *)body, 3 + 256), 0);

    memset(name, 'x', sizeof(name));
    name[70] = 0;
    m = (struct msg){ .type = MSG_MOVE_OUT, .move_out = { .peer_name = name } };
    cr_expect_eq(msg_encode(&m, &b), SQ_ETOOBIG, "a name is not cut");
    m = (struct msg){ .type = MSG_MOVE_STATUS,
                      .move_status = { .side = 1, .report = 5, .why = name } };
    cr_expect_eq(msg_encode(&m, &b), 0);
    buf_fini(&b);
}

Test(codec, frame_bound_holds_for_long_lists)
{
    struct session_rec *v = calloc(100000, sizeof(*v));
    struct msg m = { .type = MSG_COPY_EXTRA };
    struct buf b;

    for (int i = 0; i < 100000; i++)
        v[i].released_at_ms = v[i].left_ms = INT64_MAX;
    m.copy_extra.sessions = v;
    m.copy_extra.n_sessions = 100000;
    buf_init(&b);
    cr_expect_eq(msg_encode(&m, &b), SQ_ETOOBIG);
    cr_expect_eq(b.len, 0);
    buf_fini(&b);
    free(v);
}

/* ---- hand-written against generated ---------------------------------------------- */

static const ProtobufCMessageDescriptor *batch_desc(uint16_t t)
{
    static const ProtobufCMessageDescriptor *const d[] = {
        &segq__place__descriptor,  &segq__place_ans__descriptor,
        &segq__append__descriptor, &segq__append_ans__descriptor,
        &segq__drop__descriptor,   &segq__drop_ans__descriptor,
        &segq__passes__descriptor, &segq__session__descriptor,
        &segq__session_ans__descriptor,
    };

    return d[t - MSG_PLACE];
}

/* Hand-written bytes are read by generated code, written again by it, and read by hand:
 * the same message. */
Test(codec, generated_code_agrees_with_the_hand_written)
{
    struct arena a;
    struct buf b, pb;

    buf_init(&b);
    buf_init(&pb);
    arena_init(&a);
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct gen *g = gen_new(seed, seed % 2 ? 3 : 256);

        for (uint16_t t = MSG_PLACE; t <= MSG_SESSION_ANS; t++) {
            ProtobufCMessage *p;
            struct msg m, back;

            gen_msg(g, t, &m);
            buf_reset(&b);
            buf_reset(&pb);
            cr_assert_eq(msg_encode(&m, &b), 0);
            p = protobuf_c_message_unpack(batch_desc(t), NULL, b.len, b.data);
            cr_assert_not_null(p);
            buf_reserve(&pb, protobuf_c_message_get_packed_size(p) + 1);
            pb.len = protobuf_c_message_pack(p, pb.data);
            cr_assert_eq(msg_decode(t, pb.data, pb.len, &a, &back), 0);
            cr_assert(same_msg(&m, &back), "seed %lu %s", seed, msg_name(t));
            protobuf_c_message_free_unpacked(p, NULL);
            arena_reset(&a);
        }
        gen_free(g);
    }
    arena_fini(&a);
    buf_fini(&b);
    buf_fini(&pb);
}

Test(codec, generated_code_sees_the_values)
{
    struct place_ans v[3] = {
        { .state = PLACE_WAITING, .position = 300, .poll_after_ms = 5000 },
        { .state = PLACE_ADMITTED, .pass_len = 2, .pass = "pw", .released_at_ms = 7,
          .pass_expires_s = 9 },
        { .state = PLACE_GONE, .reason = GONE_NO_SHOW },
    };
    struct msg m = { .type = MSG_PLACE_ANS, .place_ans = { 3, v } };
    Segq__PlaceAns *p;
    struct buf b;

    buf_init(&b);
    cr_assert_eq(msg_encode(&m, &b), 0);
    p = segq__place_ans__unpack(NULL, b.len, b.data);
    cr_assert_not_null(p);
    cr_expect(p->state.len == 3 && p->state.data[1] == PLACE_ADMITTED);
    cr_expect(p->reason.len == 3 && p->reason.data[2] == GONE_NO_SHOW);
    cr_expect(p->n_value == 3 && p->value[0] == 300 && p->value[1] == 0);
    cr_expect(p->n_poll_after_ms == 3 && p->poll_after_ms[0] == 5000);
    cr_expect(p->n_pass == 1 && p->pass[0].len == 2 && memcmp(p->pass[0].data, "pw", 2) == 0);
    cr_expect(p->n_released_at_ms == 1 && p->released_at_ms[0] == 7);
    cr_expect(p->n_pass_expires_s == 1 && p->pass_expires_s[0] == 9);
    segq__place_ans__free_unpacked(p, NULL);
    buf_fini(&b);
}
