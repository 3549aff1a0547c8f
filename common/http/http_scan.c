/* http_scan.c: character classes and scanning. Pure. */
#include "common/http/http_scan.h"

#define ALNUM (HTTP_TOKEN | HTTP_PATH | HTTP_QUERY | HTTP_HOST)
#define HEX   (ALNUM | HTTP_HEX)
#define URI   (HTTP_PATH | HTTP_QUERY)
#define SUB   (URI | HTTP_HOST)              /* sub-delims that are not in a token */
#define TSUB  (URI | HTTP_HOST | HTTP_TOKEN) /* and those that are */
#define RAW   (HTTP_QUERY | HTTP_TOKEN)

const uint8_t http_class[256] = {
    ['0' ... '9'] = HEX, ['A' ... 'F'] = HEX,   ['G' ... 'Z'] = ALNUM,
    ['a' ... 'f'] = HEX, ['g' ... 'z'] = ALNUM, ['-'] = TSUB,
    ['.'] = TSUB,        ['_'] = TSUB,          ['~'] = TSUB,
    ['%'] = TSUB,        ['!'] = TSUB,          ['$'] = TSUB,
    ['&'] = TSUB,        ['\''] = TSUB,         ['*'] = TSUB,
    ['+'] = TSUB,        ['('] = SUB,           [')'] = SUB,
    [','] = SUB,         [';'] = SUB,           ['='] = SUB,
    [':'] = URI,         ['@'] = URI,           ['/'] = URI,
    ['?'] = HTTP_QUERY,  ['['] = HTTP_QUERY,    [']'] = HTTP_QUERY,
    ['{'] = HTTP_QUERY,  ['}'] = HTTP_QUERY,    ['\\'] = HTTP_QUERY,
    ['|'] = RAW,         ['^'] = RAW,           ['`'] = RAW,
    ['#'] = HTTP_TOKEN,
};

static inline bool is_control(char c)
{
    return ((uint8_t)c < 0x20 && c != '\t') || c == 0x7f;
}

char *http_plain_end(char *p, char *end)
{
    while (end - p >= 16) {
        chars16 c = chars16_at(p);
        unsigned n = chars16_first((chars16)(c < 0x20) | (chars16)(c == 0x7f));

        p += n;
        if (n < 16 && *p++ != '\t')
            return p - 1;
    }
    while (p < end && !is_control(*p))
        p++;
    return p;
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

static inline int field_name(struct http_cur *c, struct http_field *f)
{
    char *p = c->p, *end = c->end;
    bool cut = (size_t)(end - p) > HTTP_MAX_NAME;
    if (cut)
        end = p + HTTP_MAX_NAME + 1;
    p = http_usual(p, end, '0', '9', '-');
    while (p < end && http_is(*p, HTTP_TOKEN))
        p++;
    if (p == end)
        return cut ? -431 : http_short(c);
    f->name = (struct slice) { c->p, (size_t)(p - c->p) };
    if (*p != ':' || f->name.n == 0)
        return -400; /* space before the colon, obs-fold, no name, no colon */
    c->p = p + 1;
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
    f->value = (struct slice) { v, (size_t)(ve - v) };
    return 1;
}

bool http_digits(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
    }
    return true;
}
