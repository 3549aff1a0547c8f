/* http_scan.h: character classes and scanning, for the other http*.c. Pure. Private.
 *
 * A scan goes over bytes once, in order, and stops at the first one that decides; so the
 * outcome depends on the bytes alone, never on where the network cut them. Each step
 * returns 1 (done), 0 (more bytes needed) or -(HTTP status). */
#ifndef SEGQ_HTTP_SCAN_H
#define SEGQ_HTTP_SCAN_H

#include "common/base/chars16.h"
#include "common/http/http.h"

#define HTTP_TOKEN 1u /* RFC 9110 5.6.2 */
#define HTTP_PATH  2u /* RFC 3986 pchar and '/' */
#define HTTP_QUERY 4u /* what browsers leave unescaped there, too: | { } [ ] ^ ` \ */
#define HTTP_HOST  8u /* reg-name */
#define HTTP_HEX   16u

extern const uint8_t http_class[256];

static inline bool http_is(char c, unsigned classes)
{
    return (http_class[(uint8_t)c] & classes) != 0;
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

/* Behind the characters at p that are letters, in from..to, or `other`: the bulk of most paths,
 * hosts and names. Among the last 16 it may stop before, so what follows may be of these, too. */
static inline char *http_usual(char *p, const char *end, uint8_t from, uint8_t to,
                               uint8_t other)
{
    unsigned n = 16;

    for (; n == 16 && end - p >= 16; p += n) {
        chars16 c = chars16_at(p);

        n = chars16_first(
            ~(chars16_letters(c) | chars16_range(c, from, to) | (chars16)(c == other)));
    }
    return p;
}
/* First byte in p..end that is a control character other than TAB (or end). */
char *http_plain_end(char *p, char *end);
/* At a control character: it must be CR, LF; moves behind them. */
int http_crlf(struct http_cur *c);

struct http_field {
    struct slice name, value;
};
/* One field line, or (name.n == 0) the empty line that ends them.
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
