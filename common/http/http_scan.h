/* http_scan.h: character classes and scanning, for the other http*.c. Pure. Private.
 *
 * A scan goes over bytes once, in order, and stops at the first one that decides; so the
 * outcome depends on the bytes alone, never on where the network cut them. Each step
 * returns 1 (done), 0 (more bytes needed) or -(HTTP status). */
#ifndef SEGQ_HTTP_SCAN_H
#define SEGQ_HTTP_SCAN_H

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

/* Behind as many whole blocks of 16 letters, digits, '-', '_', '.', '/' as lie at p: the
 * bulk of most paths. What follows may be of HTTP_PATH, too. */
char *http_path_start(char *p, char *end);
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
bool http_ieq(const char *p, const char *lower, size_t n);
bool http_digits(const char *p, size_t n); /* nothing else; true of no byte */

static inline size_t http_max_body(const struct http_state *st)
{
    return st->max_body != 0 ? st->max_body : HTTP_MAX_BODY;
}

#endif
