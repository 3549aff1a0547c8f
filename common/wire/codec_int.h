/* codec_int.h: what the codec_*.c files share. Private to them.
 *
 * A message type that goes through protobuf-c has a row: the generated descriptor, `fill`
 * (our struct -> generated struct) and `take` (back, checking everything). codec.c does
 * what is the same for all: packing, unpacking, limits, memory. The batches of the polls
 * have their own way, codec_columns.h. */
#ifndef SEGQ_CODEC_INT_H
#define SEGQ_CODEC_INT_H

#include <protobuf-c/protobuf-c.h>

#include "common/wire/codec.h"

#define CODEC_ADDR_MAX 63  /* "host:port"; structs keep 64 bytes */
#define CODEC_URL_MAX  255 /* issuer */
#define CODEC_WHY_MAX  200 /* sentences for people: cut, not refused */

struct codec_row {
    const ProtobufCMessageDescriptor *desc;
    /* p: an initialised generated message. Its parts come from `a`. False: a part is above
     * its limit, or no memory (a->failed). */
    bool (*fill)(const struct msg *m, void *pb, struct arena *a);
    /* False: not valid, or no memory (a->failed). What *m points to is in `a`. */
    bool (*take)(const void *pb, struct arena *a, struct msg *m);
};

struct codec_link { /* rows of types first .. first + n - 1 */
    unsigned first, n;
    const struct codec_row *rows;
};
extern const struct codec_link codec_common;
extern const struct codec_link codec_router_manager;
extern const struct codec_link codec_segment_manager;
extern const struct codec_link codec_segment_segment;
extern const struct codec_link codec_why;
extern const struct codec_link codec_directory;

/* codec_router_segment.c: MSG_PLACE .. MSG_PASSES */
bool codec_is_batch(unsigned type);
SQ_CHECK int codec_batch_encode(const struct msg *m, struct buf *out);
SQ_CHECK int codec_batch_decode(const uint8_t *body, size_t len, struct arena *a, struct msg *m);

/* ---- text ------------------------------------------------------------------------ */
/* NULL counts as "". False if longer than max. Borrows s. */
bool codec_put_text(ProtobufCBinaryData *d, const char *s, size_t max);
/* The same, but cuts what is longer. Always true. */
bool codec_put_words(ProtobufCBinaryData *d, const char *s, size_t max);
/* A 0-terminated copy. False if longer than max, or if there is a zero inside. */
bool codec_get_text(const ProtobufCBinaryData *d, size_t max, struct arena *a,
                    const char **out);
/* n initialised messages, for a repeated member; NULL: no memory. */
void *codec_subs(const ProtobufCMessageDescriptor *desc, size_t n, struct arena *a);

/* ---- plain members of the same name on both sides ---------------------------------
 * Used where `s` is our struct, `p` the generated one, `ok` a bool. Wire numbers are wider
 * than ours: GET also checks that the value survives. */
#define CODEC_PUT(f)        p->f = s->f;
#define CODEC_PUT_T(f, max) ok = codec_put_text(&p->f, s->f, max) && ok;
#define CODEC_PUT_W(f, max) ok = codec_put_words(&p->f, s->f, max) && ok;
#define CODEC_GET(f)        ok = (s->f = (__typeof__(s->f))p->f) == p->f && ok;
#define CODEC_GET_T(f, max) ok = codec_get_text(&p->f, max, a, &s->f) && ok;

/* fill_NAME and take_NAME of a message of only such members. FIELDS(N, T, W) lists them:
 * N(number) T(text, max) W(words, max). `valid`: an expression over *s. */
#define CODEC_FLAT(name, Pb, FIELDS, valid)                                              \
    static bool fill_##name(const struct msg *m, void *pb, struct arena *a)              \
    {                                                                                    \
        const struct msg_##name *s = &m->name;                                           \
        Pb *p = pb;                                                                      \
        bool ok = true;                                                                  \
                                                                                         \
        (void)a;                                                                         \
        FIELDS(CODEC_PUT, CODEC_PUT_T, CODEC_PUT_W)                                      \
        return ok;                                                                       \
    }                                                                                    \
    static bool take_##name(const void *pb, struct arena *a, struct msg *m)              \
    {                                                                                    \
        const Pb *p = pb;                                                                \
        struct msg_##name *s = &m->name;                                                 \
        bool ok = true;                                                                  \
                                                                                         \
        (void)a;                                                                         \
        FIELDS(CODEC_GET, CODEC_GET_T, CODEC_GET_T)                                      \
        return ok && (valid);                                                            \
    }

/* Row number `type - first` of a link's table. */
#define CODEC_ROW(first, TYPE, name)                                                     \
    [MSG_##TYPE - (first)] = { &segq__##name##__descriptor, fill_##name, take_##name }

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
