/* hex.h: hexadecimal digits. Pure. */
#ifndef SEGQ_HEX_H
#define SEGQ_HEX_H

/* 0 .. 15; -1: it is none. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
