/* fields.h: our structs to bytes of protobuf, and back (fields_in.h), both ways by one table. Pure.
 *
 * A table names each member once, with its range: fields_write(), fields_take() and fields_read() walk
 * it, and the tests' generator and comparison, so none of them can forget what the others know. What
 * the .proto lacks does not compile; what only the .proto has fails test_codec. */
#ifndef SEGQ_FIELDS_H
#define SEGQ_FIELDS_H

#include <assert.h>
#include <protobuf-c/protobuf-c.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/memory.h"
#include "common/wire/wire_in.h"

#define ADDR_TEXT_MAX 63 /* "host:port"; structs keep 64 bytes */

enum field_kind {
    F_NUM,
    F_TEXT,     /* const char *, NULL counts as ""; a longer one is not sent */
    F_WORDS,    /* the same; a longer one is cut */
    F_BYTES,    /* elements of `step` bytes, one behind the other */
    F_SEED,     /* `step` bytes in place, present if the number at `n`, which is before, is not 0 */
    F_MSG,      /* a struct in place; always present */
    F_MSGS,     /* an array of structs */
    F_ROWS,     /* an array of structs in columns: those that follow, up to the next F_ROWS */
    F_COL,      /* a number of each row; absent: zeros */
    F_COL_TEXT, /* a text of each row, or bytes (`n_width` of their length); absent only if `later` */
};

struct field {
    enum field_kind kind;
    uint8_t width;    /* bytes of our number: 1, 2, 4, 8 */
    uint8_t pb_width; /* bytes of the generated number: 4, 8; 1: a column in `bytes`, one a row */
    uint8_t n_width;  /* bytes of our count, at `n`; 0: always `most` */
    bool is_signed, pb_signed;
    bool in_place; /* the elements are at `off`; else a pointer to them */
    bool addr;     /* a text that is an address: it goes into maps, records, answers and logs as it
                    * is, so nothing but visible ASCII without quotes; "" is none */
    bool any;      /* all that our number can be fits: nothing is to be looked at */
    bool later;    /* a number above `most` is a later version's: it reads as 0. A column of bytes
                    * that older versions lack: absent if nobody has any */
    uint16_t off;  /* offset of our member; of a column: in the row, and so is `n` */
    uint16_t n;
    uint16_t pb, pb_n;    /* offsets of the generated member and of its count */
    uint32_t step;        /* bytes of an element */
    uint64_t least, most; /* bounds of the number, length or count */
    const struct fields *(*sub)(void);
};

struct fields {
    const struct field *v;
    unsigned n;
    uint8_t *order; /* per field, by its place in desc: 1 + its row in v; 0: not looked for yet */
    uint64_t *looked_at; /* bits of rows that mean something also where they are absent; 0: not looked yet */
    const ProtobufCMessageDescriptor *desc;
    bool (*holds)(const void *s); /* NULL, or: what is true beyond ranges; false: refused */
    void (*finish)(void *s);      /* NULL, or: sets what has no field of its own */
};

/* Appends the bytes of a message. 0; SQ_ETOOBIG: a part is too long; SQ_EINVAL: no receiver would
 * refuse it (logged, with the field's name); SQ_ENOMEM. After an error b is as it was. */
SQ_CHECK int fields_write(const struct fields *t, const void *s, struct buf *b);
/* ---- how tables are written ---------------------------------------------------------------
 * PART: a static table of a struct; MESSAGE: of a struct msg_NAME. Members of the struct are
 * named first, then those of the .proto where these differ. */
#define TABLE(linkage, name, Struct, Pb, hold, end, ...)                                  \
    linkage const struct fields *codec_##name##_fields(void)                             \
    {                                                                                    \
        typedef Struct S;                                                                \
        typedef Segq__##Pb P;                                                            \
        static const struct field v[] = { __VA_ARGS__ };                                 \
        static uint8_t order[ARRAY_LEN(v)];                                              \
        static uint64_t looked_at;                                                       \
        static const struct fields t = { v, ARRAY_LEN(v), order, &looked_at,             \
                                         &segq__##name##__descriptor, hold, end };       \
                                                                                         \
        return &t;                                                                       \
    }
#define PART(name, Struct, Pb, hold, ...)                                                \
    TABLE(static, name, Struct, Pb, hold, NULL, __VA_ARGS__)
#define MESSAGE(name, Pb, hold, ...) MESSAGE_ENDED(name, Pb, hold, NULL, __VA_ARGS__)
#define MESSAGE_ENDED(name, Pb, hold, end, ...)                                          \
    TABLE(, name, struct msg_##name, Pb, hold, end, __VA_ARGS__)

#define F_OF(T, f)     (((T *)0)->f)
#define F_SIGNED(x)    _Generic((x), int: true, long: true, default: false)
#define F_MOST(x)      _Generic((x), _Bool: 1, default: UINT64_MAX)
#define F_IN_PLACE(x)  (!__builtin_types_compatible_p(__typeof__(x), __typeof__(&(x)[0])))
#define F_OURS(x)      .width = sizeof(x), .is_signed = F_SIGNED(x)
#define F_PB(f)        .pb = offsetof(P, f)
#define F_PB_NUM(f, x) F_PB(f), .pb_width = sizeof(x), .pb_signed = F_SIGNED(x)
#define F_PB_LIST(f)   F_PB(f), .pb_n = offsetof(P, n_##f)
#define F_BOUND(lo, hi) .least = (lo), .most = (hi)
#define F_ARRAY(f)                                                                       \
    .off = offsetof(S, f), .in_place = F_IN_PLACE(F_OF(S, f)), .step = sizeof(F_OF(S, f)[0])
#define F_COUNT(f)     .n = offsetof(S, f), .n_width = sizeof(F_OF(S, f))

#define F_ANY(x, y, lo, hi)                                                              \
    .any = (lo) == 0 && (hi) == F_MOST(x) && sizeof(x) <= sizeof(y) && F_SIGNED(x) == F_SIGNED(y)

#define IN_AS(f, p, lo, hi, ...)                                                         \
    { .kind = F_NUM, .off = offsetof(S, f), F_OURS(F_OF(S, f)), F_PB_NUM(p, F_OF(P, p)), \
      F_BOUND(lo, hi), F_ANY(F_OF(S, f), F_OF(P, p), lo, hi), __VA_ARGS__ }
#define IN(f, lo, hi)      IN_AS(f, f, lo, hi)
#define NUM_AS(f, p)       IN_AS(f, p, 0, F_MOST(F_OF(S, f)))
#define NUM(f)             NUM_AS(f, f)
#define TEXT_AS(f, p, max) { .kind = F_TEXT, .off = offsetof(S, f), F_PB(p), .most = (max) }
#define TEXT(f, max)       TEXT_AS(f, f, max)
#define ADDR(f)            { .kind = F_TEXT, .off = offsetof(S, f), F_PB(f), .most = ADDR_TEXT_MAX, .addr = true }
#define WORDS(f, max)      { .kind = F_WORDS, .off = offsetof(S, f), F_PB(f), .most = (max) }
/* n: the member with the count; max: elements */
#define BYTES(f, count, p, max)                                                          \
    { .kind = F_BYTES, F_ARRAY(f), F_COUNT(count), F_PB(p), .most = (max) }
#define FIXED(f)                                                                         \
    { .kind = F_BYTES, .off = offsetof(S, f), .in_place = true, F_PB(f),                 \
      .step = sizeof(F_OF(S, f)), .most = 1 }
#define SEED(f, count, p)                                                                \
    { .kind = F_SEED, .off = offsetof(S, f), .in_place = true, F_COUNT(count), F_PB(p),  \
      .step = sizeof(F_OF(S, f)) }
#define MSG(f, name)                                                                     \
    { .kind = F_MSG, .off = offsetof(S, f), F_PB(f), .sub = codec_##name##_fields }
#define MSGS(f, count, p, name, lo, hi)                                                  \
    { .kind = F_MSGS, F_ARRAY(f), F_COUNT(count), F_PB_LIST(p), F_BOUND(lo, hi),         \
      .sub = codec_##name##_fields }

/* by: where the .proto's struct has the count (n_x of a repeated member, x.len of bytes) */
#define ROWS(f, count, by, lo, hi)                                                       \
    { .kind = F_ROWS, F_ARRAY(f), F_COUNT(count), .pb_n = offsetof(P, by), F_BOUND(lo, hi) }
#define F_ROW(rows) __typeof__(F_OF(S, rows)[0])
#define COL_IN(rows, f, p, lo, hi)                                                       \
    { .kind = F_COL, .off = offsetof(F_ROW(rows), f), F_OURS(F_OF(S, rows)[0].f),        \
      F_PB_LIST(p), .pb_width = sizeof(F_OF(P, p)[0]),                                   \
      .pb_signed = F_SIGNED(F_OF(P, p)[0]), F_BOUND(lo, hi),                              \
      F_ANY(F_OF(S, rows)[0].f, F_OF(P, p)[0], lo, hi) }
#define COL(rows, f, p) COL_IN(rows, f, p, 0, F_MOST(F_OF(S, rows)[0].f))
#define COL_BYTE(rows, f, p, lo, hi)                                                     \
    { .kind = F_COL, .off = offsetof(F_ROW(rows), f), .width = 1, .pb_width = 1,         \
      .pb = offsetof(P, p.data), .pb_n = offsetof(P, p.len), F_BOUND(lo, hi) }
#define COL_TEXT(rows, f, p, max)                                                        \
    { .kind = F_COL_TEXT, .off = offsetof(F_ROW(rows), f), F_PB_LIST(p), .most = (max) }
#define COL_ADDR(rows, f, p)                                                             \
    { .kind = F_COL_TEXT, .off = offsetof(F_ROW(rows), f), F_PB_LIST(p), .most = ADDR_TEXT_MAX, \
      .addr = true }
#define COL_BYTES(rows, f, len, p, max)                                                  \
    { .kind = F_COL_TEXT, .off = offsetof(F_ROW(rows), f), .n = offsetof(F_ROW(rows), len), \
      .n_width = sizeof(F_OF(S, rows)[0].len), F_PB_LIST(p), .most = (max) }
#define COL_BYTES_LATER(rows, f, len, p, max)                                            \
    { .kind = F_COL_TEXT, .off = offsetof(F_ROW(rows), f), .n = offsetof(F_ROW(rows), len), \
      .n_width = sizeof(F_OF(S, rows)[0].len), F_PB_LIST(p), .most = (max), .later = true }
/* Arrays of numbers and of texts: rows whose only column they are. */
#define F_SELF(f, p)                                                                     \
    { .kind = F_COL, F_OURS(F_OF(S, f)[0]), F_PB_LIST(p), .pb_width = sizeof(F_OF(P, p)[0]), \
      .most = UINT64_MAX }
#define NUMS(f, count, p, hi)    ROWS(f, count, n_##p, 0, hi), F_SELF(f, p)
#define NUMS_FIXED(f, p)                                                                 \
    { .kind = F_ROWS, F_ARRAY(f), .pb_n = offsetof(P, n_##p),                            \
      .most = ARRAY_LEN(F_OF(S, f)) }, F_SELF(f, p)
#define TEXTS(f, count, p, lo, hi, max)                                                  \
    ROWS(f, count, n_##p, lo, hi), { .kind = F_COL_TEXT, F_PB_LIST(p), .most = (max) }

/* ---- for the walks of a table: fields.c, fields_in.c ---- */

void fields_find_row(const struct fields *t, unsigned i);

/* The row of the table for the i-th field, which is looked for once in the life of a process. */
static inline unsigned fields_row(const struct fields *t, unsigned i)
{
    if (SQ_UNLIKELY(t->order[i] == 0))
        fields_find_row(t, i);
    return t->order[i] - 1u;
}

static inline uint64_t number(const char *p, unsigned width, bool is_signed)
{
    uint64_t v = load(p, width);

    assert(!is_signed || width >= 4);
    return is_signed && width == 4 ? (uint64_t)(int64_t)(int32_t)(uint32_t)v : v;
}

static inline void *pointer(const char *p)
{
    void *v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void point(char *p, const void *to)
{
    memcpy(p, &to, sizeof(to));
}

/* Our array: its elements, and how many they are. */
static inline char *array_of(const struct field *f, const char *s)
{
    return f->in_place ? (char *)(uintptr_t)(s + f->off) : pointer(s + f->off);
}

static inline size_t elements(const struct field *f, const char *s)
{
    return f->n_width != 0 ? load(s + f->n, f->n_width) : f->most;
}

static inline uint64_t least_of(const struct field *f)
{
    return f->n_width != 0 ? f->least : f->most;
}

static inline bool is_addr(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
            return false;
    return true;
}

#endif
