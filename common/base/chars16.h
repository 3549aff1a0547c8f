/* chars16.h: sixteen characters at once, by the vectors that GNU C has on every machine. Pure.
 * A comparison gives 0xff for each character that it is true of, 0 for the others. */
#ifndef SEGQ_CHARS16_H
#define SEGQ_CHARS16_H

#include <string.h>

#include "common/base/base.h"

typedef uint8_t chars16 __attribute__((vector_size(16)));

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first character is the lowest byte");

static inline chars16 chars16_at(const char *p)
{
    chars16 c;

    memcpy(&c, p, 16);
    return c;
}

/* A bit for each character that a comparison is true of. */
static inline unsigned chars16_mask(chars16 hit)
{
#ifdef __SSE2__
    typedef char signed16 __attribute__((vector_size(16)));

    return (unsigned)__builtin_ia32_pmovmskb128((signed16)hit);
#else
    const uint64_t ones = 0x0101010101010101, up = 0x0102040810204080; /* byte i to bit 56 + i */
    uint64_t w[2];

    memcpy(w, &hit, 16);
    return (unsigned)((w[0] & ones) * up >> 56 | (w[1] & ones) * up >> 56 << 8);
#endif
}

/* Index of the first one that a comparison is true of; 16: none. */
static inline unsigned chars16_first(chars16 hit)
{
    return (unsigned)__builtin_ctz(chars16_mask(hit) | 1u << 16);
}

static inline bool chars16_any(chars16 hit)
{
    return chars16_mask(hit) != 0;
}

/* Below n, or not ASCII. */
static inline chars16 chars16_below(chars16 c, int8_t n)
{
    typedef int8_t signed16 __attribute__((vector_size(16)));

    return (chars16)((signed16)c < n);
}

/* table[i] for each of the sixteen i, which are below 16. */
static inline chars16 chars16_look_up(chars16 table, chars16 i)
{
#ifdef __SSSE3__
    typedef char signed16 __attribute__((vector_size(16)));

    return (chars16)__builtin_ia32_pshufb128((signed16)table, (signed16)i);
#elif defined(__clang__)
    chars16 out;

    for (unsigned k = 0; k < 16; k++)
        out[k] = table[i[k]];
    return out;
#else
    return __builtin_shuffle(table, i);
#endif
}

/* Not 0 for each character of a class. A class is of characters below 0x80: bit h of its row l says
 * that 0xhl is one of them. */
static inline chars16 chars16_in(chars16 c, chars16 rows)
{
    const chars16 bits = { 1, 2, 4, 8, 16, 32, 64, 128 };

    return chars16_look_up(rows, c & 15) & chars16_look_up(bits, c >> 4);
}

#endif
