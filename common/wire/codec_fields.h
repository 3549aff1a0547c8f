/* codec_fields.h: members of our structs <-> members of generated protobuf structs, for the
 * codec_*.c files. Pure.
 *
 * A message that goes through protobuf-c has a row: the generated descriptor, `fill` (our
 * struct -> generated struct) and `take` (back, checking everything). codec.c does what is the
 * same for all: packing, unpacking, limits, memory. */
#ifndef SEGQ_CODEC_FIELDS_H
#define SEGQ_CODEC_FIELDS_H

#include <protobuf-c/protobuf-c.h>

#include "common/base/arena.h"
#include "common/wire/msg.h"

#define CODEC_ADDR_MAX 63  /* "host:port"; structs keep 64 bytes */
#define CODEC_URL_MAX  255 /* issuer */
#define CODEC_WHY_MAX  200 /* sentences for people: cut, not refused */

/* fill: p is an initialised generated message; its parts come from `a`. False: a part is above
 * its limit, or no memory (a->failed).
 * take: false: not valid, or no memory (a->failed). What *m points to is in `a`. */
#define CODEC_DECLARE(name)                                                              \
    extern const ProtobufCMessageDescriptor segq__##name##__descriptor;                  \
    bool codec_fill_##name(const struct msg *m, void *pb, struct arena *a);              \
    bool codec_take_##name(const void *pb, struct arena *a, struct msg *m);

/* ---- text ------------------------------------------------------------------------ */
/* NULL counts as "". False if longer than max. Borrows s. */
bool codec_put_text(ProtobufCBinaryData *d, const char *s, size_t max);
/* The same, but cuts what is longer. Always true. */
bool codec_put_words(ProtobufCBinaryData *d, const char *s, size_t max);
/* A 0-terminated copy. False if longer than max, or if there is a zero inside. */
bool codec_get_text(const ProtobufCBinaryData *d, size_t max, struct arena *a,
                    const char **out);
/* lo <= v <= hi */
bool codec_in(uint64_t v, uint64_t lo, uint64_t hi);
/* n initialised messages, for a repeated member; NULL: no memory. */
void *codec_subs(const ProtobufCMessageDescriptor *desc, size_t n, struct arena *a);

/* ---- plain members of the same name on both sides ---------------------------------
 * A list FIELDS(N, E, T, W) names them once, for both ways (and for the tests):
 *   N(number)   E(number, lowest, highest)   T(text, max)   W(words, max)
 * Used where `s` is our struct, `p` the generated one, `ok` a bool. Wire numbers are wider
 * than ours: GET also checks that the value survives. */
#define CODEC_PUT(f)           p->f = s->f;
#define CODEC_PUT_E(f, lo, hi) p->f = s->f;
#define CODEC_PUT_T(f, max)    ok = codec_put_text(&p->f, s->f, max) && ok;
#define CODEC_PUT_W(f, max)    ok = codec_put_words(&p->f, s->f, max) && ok;
#define CODEC_GET(f)           ok = (s->f = (__typeof__(s->f))p->f) == p->f && ok;
#define CODEC_GET_E(f, lo, hi) CODEC_GET(f) ok = codec_in(s->f, lo, hi) && ok;
#define CODEC_GET_T(f, max)    ok = codec_get_text(&p->f, max, a, &s->f) && ok;

#define CODEC_PUT_ALL(FIELDS) FIELDS(CODEC_PUT, CODEC_PUT_E, CODEC_PUT_T, CODEC_PUT_W)
#define CODEC_GET_ALL(FIELDS) FIELDS(CODEC_GET, CODEC_GET_E, CODEC_GET_T, CODEC_GET_T)

/* ---- columns: packed member `col` of p <-> member `f` of rows[0 .. cnt-1] -----------
 * For use in functions returning bool with `p` and `a` in scope. An absent column reads as
 * zeros; rows are zeroed memory. */
#define COL_PUT(col, rows, cnt, f)                                                       \
    do {                                                                                 \
        p->n_##col = (cnt);                                                              \
        p->col = arena_array(a, (cnt), sizeof(*p->col));                                 \
        if (p->col == NULL)                                                              \
            return false;                                                                \
        for (size_t i_ = 0; i_ < p->n_##col; i_++)                                       \
            p->col[i_] = (rows)[i_].f;                                                   \
    } while (0)
#define COL_GET(col, rows, cnt, f)                                                       \
    do {                                                                                 \
        if (p->n_##col != 0 && p->n_##col != (cnt))                                      \
            return false;                                                                \
        for (size_t i_ = 0; i_ < p->n_##col; i_++) {                                     \
            (rows)[i_].f = (__typeof__((rows)[i_].f))p->col[i_];                         \
            if ((rows)[i_].f != p->col[i_])                                              \
                return false;                                                            \
        }                                                                                \
    } while (0)
/* the same for columns of one byte a row */
#define COL_PUT_BYTES(col, rows, cnt, f)                                                 \
    do {                                                                                 \
        p->col.len = (cnt);                                                              \
        p->col.data = arena_alloc(a, (cnt));                                             \
        if (p->col.data == NULL)                                                         \
            return false;                                                                \
        for (size_t i_ = 0; i_ < p->col.len; i_++)                                       \
            p->col.data[i_] = (rows)[i_].f;                                              \
    } while (0)
#define COL_GET_BYTES(col, rows, cnt, f)                                                 \
    do {                                                                                 \
        if (p->col.len != 0 && p->col.len != (cnt))                                      \
            return false;                                                                \
        for (size_t i_ = 0; i_ < p->col.len; i_++)                                       \
            (rows)[i_].f = p->col.data[i_];                                              \
    } while (0)
/* Zeroed rows into `ptr`, or return false. */
#define ROWS_GET(ptr, cnt)                                                               \
    do {                                                                                 \
        (ptr) = arena_array(a, (cnt), sizeof(*(ptr)));                                   \
        if ((ptr) == NULL)                                                               \
            return false;                                                                \
    } while (0)

#endif
