/* columns_int.h: what columns.c and columns_read.c share: the wire types, members of rows. */
#ifndef SEGQ_COLUMNS_INT_H
#define SEGQ_COLUMNS_INT_H

#include <assert.h>
#include <string.h>

#include "common/wire/columns.h"
#include "common/wire/frame.h"

#define INLINE static inline __attribute__((always_inline))

enum wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };

INLINE uint64_t load(const char *p, unsigned width)
{
    switch (width) {
    case 1:
        return *(const uint8_t *)p;
    case 2:
        return *(const uint16_t *)(const void *)p;
    case 4:
        return *(const uint32_t *)(const void *)p;
    default:
        return *(const uint64_t *)(const void *)p;
    }
}

INLINE void store(char *p, unsigned width, uint64_t v)
{
    switch (width) {
    case 1:
        *(uint8_t *)p = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)(void *)p = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)(void *)p = (uint32_t)v;
        break;
    default:
        *(uint64_t *)(void *)p = v;
    }
}

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
