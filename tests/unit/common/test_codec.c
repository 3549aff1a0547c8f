/* test_codec.c: every message to bytes and back; damaged bodies; the hand-written columns
 * against generated code. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec_made.h"
#include "common/base/text.h"
#include "common/wire/codec.h"
#include "common/wire/fields_in.h"
#include "proto/router_segment.pb-c.h"
#include "tests/lib/quiet.h"

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

static bool fits(const struct field *f, const ProtobufCFieldDescriptor *d)
{
    bool list = d->label == PROTOBUF_C_LABEL_REPEATED;

    switch (d->type) {
    case PROTOBUF_C_TYPE_BYTES:
        return list ? f->kind == F_COL_TEXT :
                      f->pb_width == 1 || (f->kind >= F_TEXT && f->kind <= F_SEED);
    case PROTOBUF_C_TYPE_MESSAGE:
        return f->kind == (list ? F_MSGS : F_MSG) && f->sub()->desc == d->descriptor;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return f->kind == (list ? F_COL : F_NUM) && f->pb_width == 8;
    default:
        return f->kind == (list ? F_COL : F_NUM) && f->pb_width == 4 && f->width <= 4;
    }
}

/* Each field of the .proto has one row in the table, and it fits. */
static void is_whole(const struct fields *t)
{
    for (unsigned i = 0; i < t->desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *d = &t->desc->fields[i];
        unsigned rows = 0;

        for (const struct field *f = t->v; f < t->v + t->n; f++) {
            size_t in = f->pb_width == 1 ? offsetof(ProtobufCBinaryData, data) : 0;

            if (f->kind == F_ROWS || f->pb != d->offset + in)
                continue;
            rows++;
            cr_expect(fits(f, d), "%s.%s", t->desc->short_name, d->name);
            if (f->sub != NULL)
                is_whole(f->sub());
        }
        cr_expect_eq(rows, 1, "%s.%s: %u rows", t->desc->short_name, d->name, rows);
    }
}

Test(codec, each_field_of_the_proto_has_its_row)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (fields_of(types[i]) != NULL)
            is_whole(fields_of(types[i]));
}

/* The slow build looks for bad memory: each fifth seed is enough. */
#if defined(__SANITIZE_ADDRESS__)
#define SEED_STEP 5u
#else
#define SEED_STEP 1u
#endif

Test(codec, every_type_comes_back_the_same)
{
    struct buf b, b2;
    struct arena a;

    buf_init(&b);
    buf_init(&b2);
    arena_init(&a);
    for (uint64_t seed = 0; seed < 200; seed += SEED_STEP) {
        struct gen *g = gen_new(seed, seed < 100 ? 4 : 700);

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

static uint16_t type_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(msg_name(types[i]), name) == 0)
            return types[i];
    return MSG_NONE;
}

static size_t unhex(const char *hex, uint8_t *to)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(hex_value(hex[2 * i]) << 4 | hex_value(hex[2 * i + 1]));
    return n;
}

/* codec_golden.txt: a message of each type, as an earlier codec wrote it, which had other code. A line
 * changes only if its message gets a new column (zeros of that are written, too), or a narrower range
 * (addresses). */
Test(codec, bytes_are_those_of_another_codec)
{
    FILE *f = fopen("tests/unit/common/codec_golden.txt", "r");
    char name[32], hex[2000];
    uint8_t body[1000];
    unsigned known = 0;
    struct arena a;
    struct buf b;

    cr_assert_not_null(f);
    arena_init(&a);
    buf_init(&b);
    while (fscanf(f, "%31s %1999s", name, hex) == 2) {
        uint16_t t = type_named(name);
        size_t n = unhex(hex, body);
        struct msg m;

        cr_assert_eq(msg_decode(t, body, n, &a, &m), 0, "%s", name);
        buf_reset(&b);
        cr_assert_eq(msg_encode(&m, &b), 0, "%s", name);
        cr_expect(b.len == n && same_bytes(b.data, body, n), "%s", name);
        known++;
    }
    cr_expect_geq(known, 39);
    fclose(f);
    buf_fini(&b);
    arena_fini(&a);
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

/* One row: name 7, end 9; head, and what comes before the rows. */
#define REPLICA_7(frame, head)                                                           \
    frame "\x2a\x01\x07\x52\x01\x09\x5a\x01" head "\x72\x00\x7a\x00"

#define ROW_7 "\x2a\x01\x07\x52\x01\x09\x5a\x01\x00"
#define DEAD_7(bytes)  ROW_7 "\x72" bytes "\x7a\x00"
#define LINES_7(bytes) ROW_7 "\x72\x00\x7a" bytes

Test(codec, rows_of_a_replica_make_sense)
{
    cr_expect_eq(DECODE(MSG_REPLICA, REPLICA_7("", "\x09")), 0);
    cr_expect_eq(DECODE(MSG_REPLICA, REPLICA_7("", "\x0a")), SQ_EPROTO, "head above end");
    cr_expect_eq(DECODE(MSG_REPLICA, REPLICA_7("\x08\x01\x20\x02", "\x00")), 0);
    cr_expect_eq(DECODE(MSG_REPLICA, REPLICA_7("\x20\x02", "\x00")), SQ_EPROTO, "END, no stamp");
    cr_expect_eq(DECODE(MSG_REPLICA, REPLICA_7("", "\x00") "\x42\x01\x08"), SQ_EPROTO, "lane");
    cr_expect_eq(DECODE(MSG_REPLICA, REPLICA_7("", "\x00") "\x4a\x01\xff"), 0, "newer flags");
    cr_expect_eq(DECODE(MSG_REPLICA, "\x2a\x01\x07\x72\x00"), SQ_EPROTO, "no lines");
    cr_expect_eq(DECODE(MSG_REPLICA, DEAD_7("\x01\x08")), 0);
    cr_expect_eq(DECODE(MSG_REPLICA, DEAD_7("\x01\x09")), SQ_EPROTO, "a dead one behind the end");
    cr_expect_eq(DECODE(MSG_REPLICA, DEAD_7("\x01\x80")), SQ_EPROTO, "cut short");
    cr_expect_eq(DECODE(MSG_REPLICA, LINES_7("\x03\x00\x01\x00")), 0, "all alive");
    cr_expect_eq(DECODE(MSG_REPLICA, LINES_7("\x03\x01\x01\x00")), SQ_EPROTO, "a second block");
    cr_expect_eq(DECODE(MSG_REPLICA, LINES_7("\x03\x00\x00\x01")), SQ_EPROTO, "without bits");
    cr_expect_eq(DECODE(MSG_SEEN, "\x22\x01\x07\x2a\x01\x02\x32\x01\x04"), SQ_EPROTO, "no class");
    cr_expect_eq(DECODE(MSG_SEEN, "\x22\x01\x07\x2a\x01\x02\x32\x02\x01\x04"), SQ_EPROTO, "below 0");
    cr_expect_eq(DECODE(MSG_REPLICA, "\xf2\x01\x02\x05\x06"), 0, "gone");
    cr_expect_eq(DECODE(MSG_SEEN, "\x08\x01\x22\x01\x07\x2a\x01\x02\x32\x02\x04\x05"), 0);
    cr_expect_eq(DECODE(MSG_SEEN, "\x22\x01\x07\x2a\x01\x03\x32\x02\x04\x05"), SQ_EPROTO, "class");
    cr_expect_eq(DECODE(MSG_SEEN, "\x22\x01\x07"), SQ_EPROTO, "no marks");
    cr_expect_eq(DECODE(MSG_SEEN, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), SQ_EPROTO,
                 "a clock before 0");
    cr_expect_eq(DECODE(MSG_SEEN, "\x3a\x01\x07\x42\x01\x02\x4a\x01\x03"), 0, "wants no more");
    cr_expect_eq(DECODE(MSG_SEEN, "\x3a\x01\x07\x42\x01\x02\x4a\x01\x04"), SQ_EPROTO, "class");
}

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
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x3a\x20" "0123456789abcdef0123456789abcdef"), 0);
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x3a\x01x"), SQ_EPROTO, "other keys");
}

/* Addresses of a message, by their names in the .proto. */
static void look_at_addresses(struct gen *g, uint16_t type, const struct fields *t, struct msg *m, char *s,
                              unsigned *found)
{
    static const char *const bad[] = { "a b:1", "a\n:1", "\"a:1", "a\\:1", "\xff:1", "\xc3\xa4:1", "a\x7f:1" };
    const struct field *rows = NULL;

    for (const struct field *f = t->v; f < t->v + t->n; f++) {
        struct elements e;
        struct buf b;

        rows = f->kind == F_ROWS ? f : rows;
        e = elements_of(f, rows, s);
        if (f->kind == F_MSGS && e.n > 0)
            look_at_addresses(g, type, f->sub(), m, e.p, found);
        if (!f->addr || e.n == 0)
            continue;
        ++*found;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
            const char *good = pointer_at(e.p + f->off);

            point_at(e.p + f->off, bad[i]);
            buf_init(&b);
            cr_expect_eq(msg_encode(m, &b), SQ_EINVAL, "%s: %s", msg_name(type), bad[i]);
            buf_fini(&b);
            point_at(e.p + f->off, good);
        }
    }
}

Test(codec, no_message_has_an_address_that_is_no_visible_ascii)
{
    struct gen g = { .max_rows = 10 };
    unsigned found = 0;

    quiet_log();
    rng_seed(&g.r, 1);
    arena_init(&g.a);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct msg m;
        unsigned was = found;

        for (unsigned k = 0; k < 20 && found == was && fields_of(types[i]) != NULL; k++) {
            gen_msg(&g, types[i], &m);
            look_at_addresses(&g, types[i], fields_of(types[i]), &m, (char *)&m.batch, &found);
        }
    }
    cr_expect_geq(found, 11, "%u", found);
    arena_fini(&g.a);
    /* and to read: a peer that does not look */
    cr_expect_eq(DECODE(MSG_TASK_REG, "\x0a\x03" "a:1\x12\x03" "b:2"), 0);
    cr_expect_eq(DECODE(MSG_TASK_REG, "\x0a\x03" "\xff:1"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_TASK_REG, "\x12\x03" "a 1"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x0a\x03" "a 1"), SQ_EPROTO);
    cr_expect_eq(DECODE(MSG_NODE_REG, KEY32 "\x12\x03" "a\"1"), SQ_EPROTO);
#undef KEY32
}

Test(codec, marks_of_an_order_are_of_its_segment)
{
    static const uint8_t body[] = "\x10\x07\x28\x03\x30\x05\x52\x01\x04\x5a\x01\x05\x62\x01\x12";
    struct arena a;
    struct msg m;

    arena_init(&a);
    cr_assert_eq(msg_decode(MSG_SEG_OPEN, body, sizeof(body) - 1, &a, &m), 0);
    cr_assert_eq(m.seg_open.n_marks, 1);
    cr_expect_eq(m.seg_open.marks[0].seg, 7);
    cr_expect(m.seg_open.marks[0].from == 4 && m.seg_open.marks[0].end == 5);
    cr_expect(m.seg_open.marks[0].at_ms == 9 && !m.seg_open.marks[0].again);
    arena_fini(&a);
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

/* What people read is cut, but not within a character: JSON would refuse all of it. */
Test(codec, words_are_cut_between_characters)
{
    char words[LOAD_WARNING_MAX + 40];
    struct msg m = { .type = MSG_LOAD, .load = { .version = "", .warning = words } }, back;
    struct arena a;
    struct buf b;

    for (size_t i = 0; i < 3; i++) {
        memset(words, 'x', sizeof(words));
        for (size_t k = i; k + 3 < sizeof(words); k += 3)
            memcpy(words + k, "\xe8\xaf\x81", 3);
        words[sizeof(words) - 1] = '\0';
        buf_init(&b);
        arena_init(&a);
        cr_assert_eq(msg_encode(&m, &b), 0);
        cr_assert_eq(msg_decode(MSG_LOAD, b.data, b.len, &a, &back), 0);
        cr_expect_eq(strlen(back.load.warning), i + (LOAD_WARNING_MAX - i) / 3 * 3);
        arena_fini(&a);
        buf_fini(&b);
    }
}

static void store_any(struct rng *r, char *p, unsigned width, uint64_t most)
{
    static const uint64_t odd[] = { 0, 1, UINT8_MAX, UINT16_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };
    uint64_t pick = rng_below(r, ARRAY_LEN(odd) + 2);

    store(p, width, pick < ARRAY_LEN(odd) ? odd[pick] : most + (pick & 1));
}

/* Any of its numbers, also inside of it, becomes some other one. */
static void spoil(struct rng *r, const struct fields *t, char *s)
{
    char *rows = NULL;
    size_t n = 0, step = 0;

    for (const struct field *f = t->v; f < t->v + t->n; f++) {
        char *v = s + f->off;

        if (f->kind == F_ROWS || f->kind == F_MSGS) {
            if (!f->in_place)
                memcpy(&v, s + f->off, sizeof(v));
            n = f->n_width != 0 ? load(s + f->n, f->n_width) : f->most;
            rows = v;
            step = f->step;
        }
        if (f->kind == F_NUM && rng_below(r, 16) == 0)
            store_any(r, v, f->width, f->most);
        if (f->kind == F_MSG)
            spoil(r, f->sub(), v);
        if (f->kind == F_MSGS && n > 0)
            spoil(r, f->sub(), rows + rng_below(r, n) * step);
        if (f->kind == F_COL && n > 0 && rng_below(r, 16) == 0)
            store_any(r, rows + rng_below(r, n) * step + f->off, f->width, f->most);
    }
}

static void spoil_columns(struct rng *r, const struct columns *t, char *rows, uint32_t n)
{
    for (const struct column *c = t->v; c < t->v + t->n && n > 0; c++)
        if (c->kind != COL_TEXT && rng_below(r, 16) == 0)
            store_any(r, rows + rng_below(r, n) * (size_t)t->row_bytes + c->off, c->width, c->max);
}

/* What a receiver would refuse costs it the link: it is never sent. */
Test(codec, what_is_sent_is_taken)
{
    unsigned sent = 0, kept = 0;
    struct arena a;
    struct buf b;

    buf_init(&b);
    arena_init(&a);
    quiet_log();
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct gen *g = gen_new(seed, 4);

        for (size_t i = 0; i < ARRAY_LEN(types); i++) {
            struct msg m, back;
            int rc;

            if (is_hello(types[i]))
                continue;
            gen_msg(g, types[i], &m);
            if (fields_of(m.type) != NULL)
                spoil(&g->r, fields_of(m.type), (char *)&m + offsetof(struct msg, batch));
            else
                spoil_columns(&g->r, columns_of(m.type), m.batch.rows, m.batch.n);
            buf_reset(&b);
            rc = msg_encode(&m, &b);
            sent += rc == 0;
            kept += rc == SQ_EINVAL;
            if (rc == 0)
                cr_assert_eq(msg_decode(m.type, b.data, b.len, &a, &back), 0, "seed %lu %s", seed,
                             msg_name(m.type));
            else
                cr_assert_eq(b.len, 0);
            arena_reset(&a);
        }
        gen_free(g);
    }
    cr_expect_gt(sent, 1000);
    cr_expect_gt(kept, 1000);
    log_set_sink(NULL, NULL);
    arena_fini(&a);
    buf_fini(&b);
}

/* And nothing more than that is kept back. */
Test(codec, bounds_are_sent_and_what_is_beyond_is_not)
{
    struct place_req req = { .client = CLIENT_NCLASSES - 1 };
    struct msg m = { .type = MSG_PLACE, .place = { 1, &req } };
    struct msg r = { .type = MSG_PART_RATE, .part_rate = { .rate = RATE_PER_1000_S } };
    struct msg k = { .type = MSG_TASK_TAKE, .task_take = { .most = 1 } };
    struct buf b;

    buf_init(&b);
    cr_expect_eq(msg_encode(&m, &b), 0);
    cr_expect_eq(msg_encode(&r, &b), 0);
    cr_expect_eq(msg_encode(&k, &b), 0);
    req.client++;
    r.part_rate.rate++;
    k.task_take.most = 0;
    cr_expect_eq(msg_encode(&m, &b), SQ_EINVAL);
    cr_expect_eq(msg_encode(&r, &b), SQ_EINVAL);
    cr_expect_eq(msg_encode(&k, &b), SQ_EINVAL, "at least 1");
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

/* What stands in all rows is written once and copied, if it is not too long for that. */
Test(codec, rows_with_equal_numbers_come_back_whatever_their_length)
{
    struct place_req req[7], *got;
    struct msg m = { .type = MSG_PLACE, .place = { ARRAY_LEN(req), req } }, back;
    struct arena a = { 0 };
    struct buf b;

    buf_init(&b);
    for (unsigned bit = 0; bit <= 64; bit++) {
        memset(req, 0, sizeof(req));
        for (unsigned i = 1; i < ARRAY_LEN(req); i++) {
            req[i].seg = i == 4 ? 5 : bit < 64 ? 1ull << bit : UINT64_MAX;
            req[i].number = bit < 32 && i != 2 ? 1u << bit : UINT32_MAX;
        }
        buf_reset(&b);
        cr_assert_eq(msg_encode(&m, &b), 0);
        cr_assert_eq(msg_decode(MSG_PLACE, b.data, b.len, &a, &back), 0, "bit %u", bit);
        cr_assert_eq(back.place.n, ARRAY_LEN(req));
        got = back.place.req;
        for (unsigned i = 0; i < ARRAY_LEN(req); i++)
            cr_expect(got[i].seg == req[i].seg && got[i].number == req[i].number,
                      "bit %u, row %u", bit, i);
        arena_reset(&a);
    }
    arena_fini(&a);
    buf_fini(&b);
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

Test(codec, records_are_packed_as_generated_code_packs_them)
{
    struct buf b, pb;

    buf_init(&b);
    buf_init(&pb);
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct gen *g = gen_new(seed, seed % 2 ? 3 : 256);

        for (size_t i = 0; i < ARRAY_LEN(types); i++) {
            const struct fields *t = is_hello(types[i]) ? NULL : fields_of(types[i]);
            ProtobufCMessage *p;
            struct msg m;

            if (t == NULL)
                continue;
            gen_msg(g, types[i], &m);
            buf_reset(&b);
            buf_reset(&pb);
            cr_assert_eq(msg_encode(&m, &b), 0);
            p = protobuf_c_message_unpack(t->desc, NULL, b.len, b.data);
            cr_assert_not_null(p);
            buf_reserve(&pb, protobuf_c_message_get_packed_size(p) + 1);
            pb.len = protobuf_c_message_pack(p, pb.data);
            cr_assert(b.len == pb.len && same_bytes(b.data, pb.data, b.len), "seed %lu %s", seed,
                      msg_name(m.type));
            protobuf_c_message_free_unpacked(p, NULL);
        }
        gen_free(g);
    }
    buf_fini(&b);
    buf_fini(&pb);
}

/* A body as both readers of records see it. */
struct two_reads {
    struct arena mem;
    struct msg ours, pb;
    bool ours_ok, pb_ok;
};

static void read_both(struct two_reads *r, uint16_t type, const struct buf *b)
{
    uint8_t *copy = malloc(b->len + 1); /* so that ASan sees a byte too far */
    const struct fields *t = fields_of(type);
    ProtobufCMessage *p;

    memcpy(copy, b->data, b->len);
    arena_reset(&r->mem);
    r->ours = r->pb = (struct msg){ .type = type };
    r->ours_ok = fields_read(t, copy, copy + b->len, &r->mem, &r->ours.batch);
    free(copy); /* nothing points there */
    p = protobuf_c_message_unpack(t->desc, NULL, b->len, b->data);
    r->pb_ok = p != NULL && fields_take(t, p, &r->mem, &r->pb.batch);
    if (r->ours_ok)
        cr_assert(r->pb_ok && same_msg(&r->ours, &r->pb), "%s", msg_name(type));
    if (p != NULL)
        protobuf_c_message_free_unpacked(p, NULL);
}

/* What is whole is read by both; of what is damaged ours refuses a little more, see fields.h. */
Test(codec, bytes_are_read_as_protobuf_reads_them)
{
    unsigned refused = 0, taken = 0;
    struct two_reads r;
    struct buf b;

    buf_init(&b);
    arena_init(&r.mem);
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct gen *g = gen_new(seed, seed % 4 ? 3 : 256);

        for (size_t i = 0; i < ARRAY_LEN(types); i++) {
            struct msg m;

            if (is_hello(types[i]) || fields_of(types[i]) == NULL)
                continue;
            gen_msg(g, types[i], &m);
            buf_reset(&b);
            cr_assert_eq(msg_encode(&m, &b), 0);
            read_both(&r, types[i], &b);
            cr_assert(r.ours_ok && r.pb_ok && same_msg(&r.ours, &m), "seed %lu %s", seed, msg_name(m.type));
            for (unsigned k = 0; k < 50 && b.len > 0 && b.len < 2000; k++) {
                size_t at = rng_below(&g->r, b.len), whole = b.len;
                uint8_t was = b.data[at];

                if (k % 2 != 0)
                    b.data[at] = (uint8_t)rng_u64(&g->r);
                else
                    b.len = at;
                read_both(&r, types[i], &b);
                taken += r.pb_ok;
                refused += r.pb_ok && !r.ours_ok;
                b.data[at] = was;
                b.len = whole;
            }
        }
        gen_free(g);
    }
    cr_expect(taken > 1000 && refused < taken / 50, "%u of %u", refused, taken);
    arena_fini(&r.mem);
    buf_fini(&b);
}

/* What another sender might write: numbers not packed or in pieces, the last of two, unknown fields,
 * any order. */
Test(codec, bytes_of_other_senders_are_read_as_protobuf_reads_them)
{
    static const struct {
        uint16_t type;
        const char *bytes;
        size_t n;
        bool ok;
    } v[] = {
#define OTHER(type, lit, ok) { type, lit, sizeof(lit) - 1, ok }
        OTHER(MSG_TASK_TAKE, "\x20\x05\x08\x07\x20\x06\x08\x09", true),
        OTHER(MSG_TASK_TAKE, "\x20\x06\xc2\x3e\x02xy\xc8\x3e\x01", true),
        OTHER(MSG_TASK_TAKE, "\x08\x07", false),          /* most is from 1 on */
        OTHER(MSG_TASK_TAKE, "\x20\x06\x0a\x01\x01", false), /* a number as bytes */
        OTHER(MSG_TASK_TAKE, "\x20\x06\x18\x01", false),   /* a text as a number */
        OTHER(MSG_TASK_TAKE, "\x20\x06\x1a\x02q", false),
        OTHER(MSG_TASK_TAKE, "\x20\x06\x1a\x02q\x00", false), /* a zero in a text */
        OTHER(MSG_TASK_PUT, "\x0a\x00\x12\x00\x0a\x02\x08\x05", true),
        OTHER(MSG_TASK_PUT, "", false),
#undef OTHER
    };
    struct two_reads r;

    arena_init(&r.mem);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct buf b = { .data = (uint8_t *)(uintptr_t)v[i].bytes, .len = v[i].n };

        read_both(&r, v[i].type, &b);
        cr_expect_eq(r.pb_ok, v[i].ok, "%zu", i);
        cr_expect_eq(r.ours_ok, v[i].ok, "%zu", i);
    }
    arena_fini(&r.mem);
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
