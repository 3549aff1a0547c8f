/* hex.h: hexadecimal digits. Pure. */
#ifndef SEGQ_HEX_H
#define SEGQ_HEX_H

#include <stdint.h>

/* 0 .. 15; -1: it is none. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the two digits at p say; -1: they are none, or end beyond `end`. */
static inline int hex_byte(const char *p, const char *end)
{
    int hi = end - p >= 2 ? hex_value(p[0]) : -1, lo = hi >= 0 ? hex_value(p[1]) : -1;

    return lo >= 0 ? hi << 4 | lo : -1;
}

/* 16 small digits; behind them. */
static inline char *hex_put(char *to, uint64_t v)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[v >> shift & 15];
    return to;
}

#endif
