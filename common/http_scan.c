/* http_scan.c: character classes and scanning. Pure. */
#include "common/http_scan.h"

#include <string.h>

#define ALNUM (HTTP_TOKEN | HTTP_PATH | HTTP_QUERY | HTTP_HOST)
#define HEX   (ALNUM | HTTP_HEX)
#define URI   (HTTP_PATH | HTTP_QUERY)
#define SUB   (URI | HTTP_HOST)              /* sub-delims that are not in a token */
#define TSUB  (URI | HTTP_HOST | HTTP_TOKEN) /* and those that are */
#define RAW   (HTTP_QUERY | HTTP_TOKEN)

const uint8_t http_class[256] = {
    ['0' ... '9'] = HEX,   ['A' ... 'F'] = HEX, ['G' ... 'Z'] = ALNUM, ['a' ... 'f'] = HEX,
    ['g' ... 'z'] = ALNUM, ['-'] = TSUB,        ['.'] = TSUB,          ['_'] = TSUB,
    ['~'] = TSUB,          ['%'] = TSUB,        ['!'] = TSUB,          ['$'] = TSUB,
    ['&'] = TSUB,          ['\''] = TSUB,       ['*'] = TSUB,          ['+'] = TSUB,
    ['('] = SUB,           [')'] = SUB,         [','] = SUB,           [';'] = SUB,
    ['='] = SUB,           [':'] = URI,         ['@'] = URI,           ['/'] = URI,
    ['?'] = HTTP_QUERY,    ['['] = HTTP_QUERY,  [']'] = HTTP_QUERY,    ['{'] = HTTP_QUERY,
    ['}'] = HTTP_QUERY,    ['\\'] = HTTP_QUERY, ['|'] = RAW,           ['^'] = RAW,
    ['`'] = RAW,           ['#'] = HTTP_TOKEN,
};

#define ONES  0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

/* Is any of the 8 bytes below 0x20, or 0x7f? */
static inline bool any_control(uint64_t x)
{
    uint64_t low = (x - ONES * 0x20) & ~x;
    uint64_t d = x ^ (ONES * 0x7f);
    uint64_t del = (d - ONES) & ~d;
    return ((low | del) & HIGHS) != 0;
}

char *http_plain_end(char *p, char *end)
{
    for (;;) {
        uint64_t x;

        while (end - p >= 8) {
            memcpy(&x, p, 8);
            if (any_control(x))
                break;
            p += 8;
        }
        while (p < end && ((uint8_t)*p >= 0x20 || *p == '\t') && *p != 0x7f) {
            p++;
            /* behind a TAB go on by eights; the tail has fewer left anyway */
            if (p[-1] == '\t' && end - p >= 8)
                break;
        }
        if (p == end || ((uint8_t)*p < 0x20 && *p != '\t') || *p == 0x7f)
            return p;
    }
}

int http_crlf(struct http_cur *c)
{
    if (*c->p != '\r')
        return -400; /* bare LF, NUL, any other control character */
    if (c->p + 1 == c->end)
        return http_short(c);
    if (c->p[1] != '\n')
        return -400; /* bare CR */
    c->p += 2;
    return 1;
}

static int field_name(struct http_cur *c, struct http_field *f)
{
    struct http_cur name = *c;

    http_limit(&name, c->p, HTTP_MAX_NAME + 1, c->end, 431);
    if (name.over == 0)
        name.over = c->over;
    f->name.p = c->p;
    while (name.p < name.end && http_is(*name.p, HTTP_TOKEN))
        name.p++;
    if (name.p == name.end)
        return http_short(&name);
    f->name.n = (size_t)(name.p - f->name.p);
    if (*name.p != ':' || f->name.n == 0)
        return -400; /* space before the colon, obs-fold, no name, no colon */
    c->p = name.p + 1;
    return 1;
}

int http_field(struct http_cur *c, struct http_field *f, bool *in_value)
{
    char *v, *ve;
    int rc;

    *in_value = false;
    if (c->p == c->end)
        return http_short(c);
    if (*c->p == '\r') {
        f->name.n = 0;
        return http_crlf(c);
    }
    rc = field_name(c, f);
    if (rc <= 0)
        return rc;
    v = c->p;
    ve = http_plain_end(v, c->end);
    c->p = ve;
    if (ve == c->end) {
        *in_value = true;
        return http_short(c);
    }
    rc = http_crlf(c);
    if (rc <= 0)
        return rc;
    while (v < ve && (*v == ' ' || *v == '\t'))
        v++;
    while (ve > v && (ve[-1] == ' ' || ve[-1] == '\t'))
        ve--;
    f->value = (struct slice){ v, (size_t)(ve - v) };
    return 1;
}

/* `lower` has letters and '-' only, and p is a token: no other byte meets them by | 0x20. */
bool http_ieq(const char *p, const char *lower, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((p[i] | 0x20) != lower[i])
            return false;
    }
    return true;
}
