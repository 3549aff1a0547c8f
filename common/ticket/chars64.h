/* chars64.h: URL-safe base64, sixteen characters and twelve bytes at a time, in registers. Pure. */
#ifndef SEGQ_CHARS64_H
#define SEGQ_CHARS64_H

#include "common/base/chars16.h"

typedef uint16_t pairs8 __attribute__((vector_size(16)));
typedef uint32_t groups4 __attribute__((vector_size(16)));

/* Values of the characters, 0..63; the high half of each nearly says it. *bad: not 0 for what is no
 * such character. */
static inline chars16 chars64_values(chars16 c, chars16 *bad)
{
    const chars16 ours = { 0xa8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8,
                           0xf8, 0xf8, 0xf0, 0x50, 0x50, 0x54, 0x50, 0x70 };
    const uint8_t upper = (uint8_t)-'A', lower = (uint8_t)(26 - 'a');
    const chars16 add = { 0, 0, 62 - '-', 52 - '0', upper, upper, lower, lower }; /* but for '_' */

    *bad |= (chars16)(chars16_in(c, ours) == 0);
    return c + chars16_look_up(add, c >> 4) + ((chars16)(c == '_') & (63 - '_' + 'A'));
}

/* Sixteen values as twelve bytes; the last four are 0. */
static inline chars16 chars64_bytes(chars16 v)
{
    pairs8 p = (pairs8)v;
    groups4 g = (groups4)((p << 6 & 0xfc0) | p >> 8);

    v = (chars16)((g << 12 & 0xfff000) | g >> 16);
    return __builtin_shufflevector(v, v, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15);
}

/* The text of the first twelve bytes. */
static inline chars16 chars64_of(chars16 b)
{
    const chars16 none = { 0 };
    groups4 g = (groups4)__builtin_shufflevector(b, none, 2, 1, 0, 16, 5, 4, 3, 16, 8, 7, 6, 16,
                                                 11, 10, 9, 16);
    chars16 v = (chars16)(g >> 18 | (g >> 4 & 0x3f00) | (g << 10 & 0x3f0000) | (g << 24 & 0x3f000000));

    return v + 'A' + ((chars16)(v > 25) & ('a' - 26 - 'A')) -
           ((chars16)(v > 51) & ('a' - 26 - '0' + 52)) - ((chars16)(v == 62) & ('0' + 10 - '-')) +
           ((chars16)(v == 63) & ('_' - '0' - 11));
}

#endif
