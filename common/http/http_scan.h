/* http_scan.h: character classes and scanning, for the other http*.c. Pure. Private.
 *
 * A scan goes over bytes once, in order, and stops at the first one that decides; so the
 * outcome depends on the bytes alone, never on where the network cut them. Each step
 * returns 1 (done), 0 (more bytes needed) or -(HTTP status).
 * Sixteen bytes are looked at together, so up to HTTP_SLACK behind the last one are read. */
#ifndef SEGQ_HTTP_SCAN_H
#define SEGQ_HTTP_SCAN_H

#include "common/base/chars16.h"
#include "common/http/http.h"

/* A class of characters, for chars16_in(): by the low half of one, bits of the high halves. */
struct http_class {
    uint8_t high[16];
};

extern const struct http_class http_token, /* RFC 9110 5.6.2 */
    http_path,  /* RFC 3986 pchar and '/' */
    http_query, /* characters that browsers leave unescaped there, too: | { } [ ] ^ ` \ */
    http_host,  /* reg-name */
    http_hex;

static inline bool http_is(char c, const struct http_class *k)
{
    return k->high[(uint8_t)c & 15] >> ((uint8_t)c >> 4) & 1;
}

/* Index of the first of the sixteen at p that is not of the class; 16: none. */
static inline unsigned http_first_not(const char *p, const struct http_class *k)
{
    chars16 rows;

    memcpy(&rows, k->high, 16);
    return chars16_first((chars16)(chars16_in(chars16_at(p), rows) == 0));
}

/* Behind the characters at p that are of the class. What lies behind `end` may be read. */
static inline char *http_skip(char *p, char *end, const struct http_class *k)
{
    unsigned n = 16;

    for (; n == 16 && p < end; p += n)
        n = http_first_not(p, k);
    return p < end ? p : end;
}

struct http_cur {
    char *p, *end;
    int over; /* `end` is a limit: the status; 0: more bytes may come */
};

/* Sets the cursor's end to what there is, at most `max` bytes after `from`. */
static inline void http_limit(struct http_cur *c, char *from, size_t max, char *end,
                              int status)
{
    bool over = (size_t)(end - from) >= max;

    c->end = over ? from + max : end;
    c->over = over ? status : 0;
}

static inline int http_short(const struct http_cur *c)
{
    return -c->over;
}

/* A bit for each of the sixteen at p that is a control character: TAB is one. */
static inline unsigned http_controls(const char *p)
{
    chars16 c = chars16_at(p);

    return chars16_mask((chars16)(c < 0x20) | (chars16)(c == 0x7f));
}

/* A bit for each of the sixteen at p that is one of ' '..'~': no control character, and ASCII. One
 * more is then above ' ', as a signed number. */
static inline unsigned http_plain(const char *p)
{
    typedef int8_t signed16 __attribute__((vector_size(16)));

    return chars16_mask((chars16)((signed16)(chars16_at(p) + 1) > ' '));
}

/* First byte in p..end that is a control character other than TAB (or end). */
char *http_plain_end(char *p, char *end);
/* At a control character: it must be CR, LF; moves behind them. */
int http_crlf(struct http_cur *c);

struct http_field {
    struct slice name, value;
};
/* Reads a field line, or (name.n == 0) the empty line that ends them.
 * *in_value: the bytes ended inside a value, with nothing wrong so far. */
int http_field(struct http_cur *c, struct http_field *f, bool *in_value);
/* `lower` has letters, digits and '-' only: no other byte of p meets them by | 0x20. Inline, so
 * that a literal is compared by words. */
static inline bool http_ieq(const char *p, const char *lower, size_t n)
{
    uint64_t v, w;

    for (; n < 8 && n > 0; p++, lower++, n--)
        if ((*p | 0x20) != *lower)
            return false;
    for (size_t i = 0; i < n; i = i + 8 < n ? u64_min(i + 8, n - 8) : n) { /* the last overlaps */
        memcpy(&v, p + i, 8);
        memcpy(&w, lower + i, 8);
        if ((v | 0x2020202020202020) != w)
            return false;
    }
    return true;
}
bool http_digits(const char *p, size_t n); /* nothing else; true of no byte */

static inline size_t http_max_body(const struct http_state *st)
{
    return st->max_body != 0 ? st->max_body : HTTP_MAX_BODY;
}

#endif
