/* columns.h: rows of structs to packed protobuf columns, and back, by hand. Pure.
 *
 * What generated code would do for a message whose fields are all repeated (or `bytes` with a
 * byte per row), ten times faster: written in one pass, into room for the longest values; read
 * in two, to count and to fill. Fields are numbered 1, 2, ... in the order of the table. The first
 * column says how many rows there are; any other has as many values, or is absent: then all its
 * values are zero. */
#ifndef SEGQ_COLUMNS_H
#define SEGQ_COLUMNS_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/memory.h"

#define COLUMNS_MAX 12

enum column_kind {
    COL_NUM,   /* repeated uint32, uint64, int64: packed varints */
    COL_BYTE,  /* bytes: one per row */
    COL_FIX64, /* repeated fixed64 */
    COL_TEXT,  /* repeated bytes: pointer at `off`, length at `off_len` */
};

struct column {
    enum column_kind kind;
    uint16_t off;     /* offset of the member in the row */
    uint16_t off_len; /* COL_TEXT */
    uint8_t width;    /* bytes of the member (COL_TEXT: of the length): 1, 2, 4, 8 */
    bool some;        /* only rows whose byte at `some_off` is `some_value` take part */
    bool must;        /* may not be absent if it has rows */
    uint64_t max;     /* largest value or length */
};

struct columns {
    const struct column *v;
    uint8_t n;
    uint8_t some_value; /* 0: no column is for some rows only */
    uint16_t some_off;
    uint16_t row_bytes;
    uint32_t max_rows;
};

/* Appends. 0, SQ_ENOMEM, SQ_ETOOBIG, SQ_EINVAL: columns_decode() would refuse a number (out
 * unchanged). */
SQ_CHECK int columns_encode(const struct columns *t, const void *rows, uint32_t n,
                            struct buf *out);

/* 0, *rows (in a) and *n; SQ_EPROTO; SQ_ENOMEM. Texts point into body. */
SQ_CHECK int columns_decode(const struct columns *t, const uint8_t *body, size_t len,
                            struct arena *a, void **rows, uint32_t *n);

#endif
