/* text.h: text composed at a pointer: bytes, and numbers as decimal digits; what is UTF-8; the name that
 * was meant; sixteen characters looked at as one. Pure.
 * Each function writes there, and returns its end; the caller has made room for all before.
 *
 * Eight digits at once: a number below 10^8 is halved three times, by multiplication within one
 * word (P. Khuong, "How to print integers really fast", 2017); no division, no branch per digit. */
#ifndef SEGQ_TEXT_H
#define SEGQ_TEXT_H

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "common/base/base.h"

static inline char *text_put(char *w, const void *p, size_t n)
{
    if (n > 0) /* an empty text may have no address */
        memcpy(w, p, n);
    return w + n;
}

static inline char *text_str(char *w, const char *s)
{
    return text_put(w, s, strlen(s));
}

/* Cut to cap - 1, and ended with 0; NULL: "". */
static inline void copy_text(char *to, size_t cap, const char *from)
{
    size_t n = from != NULL ? strnlen(from, cap - 1) : 0;

    text_put(to, from, n)[0] = 0;
}

/* Likewise, in small letters. */
static inline void copy_lower(char *to, size_t cap, const char *from)
{
    copy_text(to, cap, from);
    for (; *to != 0; to++)
        if (*to >= 'A' && *to <= 'Z')
            *to = (char)(*to | 0x20);
}

/* The n bytes at p are the word. */
static inline bool text_is(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(p, word, n) == 0;
}

struct slice { /* borrowed text */
    char *p;
    size_t n;
};

static inline bool slice_is(struct slice s, const char *word)
{
    return text_is(s.p, s.n, word);
}

static inline struct slice slice_of(const char *text) /* only read */
{
    return (struct slice){ (char *)(uintptr_t)text, strlen(text) };
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Without blanks at its ends. */
static inline struct slice slice_trim(struct slice s)
{
    for (; s.n > 0 && is_blank(s.p[0]); s.n--)
        s.p++;
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* A letter, a digit, or one of `others`. */
static inline bool char_is_of(char c, const char *others)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c != 0 && strchr(others, c) != NULL);
}

static inline bool text_is_of(const char *p, size_t n, const char *others)
{
    for (size_t i = 0; i < n; i++)
        if (!char_is_of(p[i], others))
            return false;
    return true;
}

#define PUT(w, lit) text_put(w, lit, sizeof(lit) - 1)

/* The number that n bytes are, digits alone, and at most `most`; -1: they are none, or a larger one. Whoever names
 * a larger bound than 10^18 sees to it that n is at most 18. */
static inline int64_t decimal_read(const char *p, size_t n, uint64_t most)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        v = v * 10 + (uint64_t)(p[i] - '0');
        if (v > most)
            return -1;
    }
    return n > 0 ? (int64_t)v : -1;
}

#define DECIMAL_ROOM 24 /* bytes that text_u64 may touch; the longest number has 20 */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is in the lowest byte");

/* The eight digits of v < 10^8, a byte each (0..9), the first in the lowest byte. */
static inline uint64_t decimal_eight(uint32_t v)
{
    uint64_t four = v / 10000 | (uint64_t)(v % 10000) << 32;
    uint64_t top = four * 10486 >> 20 & 0x0000007f0000007f;
    uint64_t two = top | (four - 100 * top) << 16;
    uint64_t tens = two * 103 >> 10 & 0x000f000f000f000f;

    return tens | (two - 10 * tens) << 8;
}

static inline char *decimal_store(char *p, uint64_t digits)
{
    digits |= 0x3030303030303030;
    memcpy(p, &digits, 8);
    return p + 8;
}

/* Writes v < 10^8 without leading zeroes, and returns its end; touches 8 bytes. */
static inline char *decimal_short(char *p, uint32_t v)
{
    uint64_t digits = decimal_eight(v);
    unsigned zeroes = (unsigned)__builtin_ctzll(digits | (uint64_t)1 << 56) / 8;

    decimal_store(p, digits >> 8 * zeroes);
    return p + 8 - zeroes;
}

/* Writes v, and returns its end; touches DECIMAL_ROOM bytes at most. */
static inline char *text_u64(char *p, uint64_t v)
{
    const uint64_t e8 = 100000000;

    if (SQ_LIKELY(v < e8))
        return decimal_short(p, (uint32_t)v);
    if (v < e8 * e8) {
        p = decimal_short(p, (uint32_t)(v / e8));
    } else {
        p = decimal_short(p, (uint32_t)(v / e8 / e8));
        p = decimal_store(p, decimal_eight((uint32_t)(v / e8 % e8)));
    }
    return decimal_store(p, decimal_eight((uint32_t)(v % e8)));
}

/* The same of a number with a sign, which is one byte more. */
static inline char *text_i64(char *p, int64_t v)
{
    if (v < 0)
        *p++ = '-';
    return text_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Writes the last `width` digits of v < 10^8, at most eight, and returns their end. */
static inline char *text_padded(char *p, unsigned width, uint32_t v)
{
    char digits[8];

    decimal_store(digits, decimal_eight(v));
    return text_put(p, digits + 8 - width, width);
}

/* Seconds with three decimals, of a number of thousandths; touches DECIMAL_ROOM bytes, and 4. */
static inline char *text_millis(char *p, uint64_t v)
{
    p = text_u64(p, v / 1000);
    *p++ = '.';
    return text_padded(p, 3, (uint32_t)(v % 1000));
}

/* ---- UTF-8 (RFC 3629: no surrogates, nothing longer than it must be) ---- */

/* Bytes of the sequence at text, of at most n; 0: it is none, or a NUL. n > 0. */
static inline size_t utf8_len(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
                 : s[0] < 0xf5 ? 4 : 0;
    uint32_t cp;

    if (len == 0 || len > n)
        return 0;
    if (len == 1)
        return s[0] != 0;
    cp = s[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        cp = cp << 6 | (s[i] & 0x3f);
    }
    if (cp < least[len] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return 0;
    return len;
}

/* All of it is. */
static inline bool utf8_ok(const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_len(s + i, n - i);
        if (len == 0)
            return false;
    }
    return true;
}

/* ---- hexadecimal digits ---- */

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

/* ---- names that were meant ---- */

/* Letters that have to be put in, taken out, changed, or swapped with the next one; long texts
 * are far from all. By V. Levenshtein's rows. */
static inline unsigned near_distance(const char *a, const char *b)
{
    unsigned rows[3][40];
    size_t n = strlen(b), m = strlen(a);

    if (n >= ARRAY_LEN(rows[0]) || m >= ARRAY_LEN(rows[0]))
        return UINT_MAX;
    for (unsigned j = 0; j <= n; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= m; i++) {
        const unsigned *up2 = rows[(i + 1) % 3], *up = rows[(i - 1) % 3];
        unsigned *row = rows[i % 3];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            unsigned least = up[j - 1] + (a[i - 1] != b[j - 1]);

            least = up[j] + 1 < least ? up[j] + 1 : least;
            least = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < least)
                least = up2[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[m % 3][n];
}

struct near {
    const char *typed, *name; /* refs; name: the nearest one so far, NULL: none is near */
    unsigned best;            /* only a distance below this is nearer */
};

/* Two letters may be wrong; of a short word less than the half. */
static inline struct near near_to(const char *typed)
{
    size_t half = (strlen(typed) + 1) / 2;

    return (struct near){ .typed = typed, .best = half < 3 ? (unsigned)half : 3 };
}

static inline void near_try(struct near *n, const char *name)
{
    unsigned d = near_distance(name, n->typed);

    if (d < n->best) {
        n->best = d;
        n->name = name;
    }
}

/* ---- sixteen characters at once, by the vectors that GNU C has on every machine. A comparison gives
 * 0xff for each character that it is true of, 0 for the others ------------------------------ */

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
