/* columns_int.h: what columns.c and columns_read.c share: the wire types, rows that take part. */
#ifndef SEGQ_COLUMNS_INT_H
#define SEGQ_COLUMNS_INT_H

#include <assert.h>
#include <string.h>

#include "common/wire/columns.h"
#include "common/wire/frame.h"
#include "common/wire/number.h"

enum wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };

/* Rows that the columns for some are about. */
INLINE uint32_t rows_with(const struct columns *t, const char *rows, uint32_t n)
{
    uint32_t k = 0;

    for (uint32_t i = 0; i < n; i++, rows += t->row_bytes)
        k += *(const uint8_t *)(rows + t->some_off) == t->some_value;
    return k;
}

INLINE bool takes_part(const struct columns *t, const struct column *c, const char *row)
{
    return !c->some || *(const uint8_t *)(row + t->some_off) == t->some_value;
}

#endif
