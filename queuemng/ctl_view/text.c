/* text.c: see the header. */
#include "queuemng/ctl_view/text.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/text.h"

/* ---- members ---- */

const char *ctl_part(const char *path, char end, char name[CTL_PATH])
{
    const char *at = strchr(path, end);
    size_t n = at != NULL ? (size_t)(at - path) : strlen(path);

    assert(n < CTL_PATH);
    memcpy(name, path, n);
    name[n] = '\0';
    return at != NULL ? at + 1 : NULL;
}

const json_t *ctl_member(const json_t *o, const char *path)
{
    char name[CTL_PATH];

    if (strcmp(path, ".") == 0)
        return o;
    while (path != NULL) {
        path = ctl_part(path, '.', name);
        o = json_is_array(o) && isdigit((unsigned char)name[0])
                ? json_array_get(o, strtoul(name, NULL, 10)) : json_object_get(o, name);
    }
    return o;
}

const char *ctl_str(const json_t *o, const char *path)
{
    const char *s = json_string_value(ctl_member(o, path));

    return s != NULL && *s != '\0' ? s : "-";
}

uint64_t ctl_u64(const json_t *o, const char *path)
{
    char name[CTL_PATH];
    const char *rest = ctl_part(path, '+', name);
    double v = ctl_f64(o, name);
    json_int_t i = json_integer_value(ctl_member(o, name));
    uint64_t n = i > 0 ? (uint64_t)i : v >= 1 && v < 1e18 ? (uint64_t)v : 0;

    return rest != NULL ? n + ctl_u64(o, rest) : n;
}

double ctl_f64(const json_t *o, const char *path)
{
    return json_number_value(ctl_member(o, path));
}

bool ctl_is(const json_t *o, const char *path)
{
    return json_is_true(ctl_member(o, path));
}

bool ctl_equals(const json_t *o, const char *path, const char *text)
{
    return strcmp(ctl_str(o, path), text) == 0;
}

json_t *ctl_find(const json_t *doc, const char *list, const char *key, const char *name)
{
    json_t *x;
    size_t i;

    json_array_foreach(json_object_get(doc, list), i, x)
        if (ctl_equals(x, key, name))
            return x;
    return NULL;
}

uint64_t ctl_sum(const json_t *list, const char *path, const char *key, const char *name)
{
    const json_t *x;
    uint64_t n = 0;
    size_t i;

    json_array_foreach(list, i, x)
        if (key == NULL || ctl_equals(x, key, name))
            n += ctl_u64(x, path);
    return n;
}

/* ---- colours: the 16 that every terminal has (ECMA-48, SGR): the operator's own palette holds ---- */

static bool with_colours;

void colours_on(bool on)
{
    with_colours = on;
}

void colour_put(struct buf *b, enum colour colour, const char *text)
{
    static const char *const sgr[] = { [COLOUR_BOLD] = "\033[1m", [COLOUR_GOOD] = "\033[32m",
                                       [COLOUR_WARN] = "\033[33m", [COLOUR_BAD] = "\033[31m" };
    bool coloured = with_colours && colour != COLOUR_NONE;

    if (coloured)
        buf_str(b, sgr[colour]);
    buf_str(b, text);
    if (coloured)
        buf_str(b, "\033[0m");
}

/* ---- text, bars, numbers ---- */

#define UTF8_MAX 4 /* bytes of a character */

/* The character at s, of at most n bytes; a byte that is no UTF-8 is one, '?'. */
static size_t next_code(const char *s, size_t n, uint32_t *code)
{
    size_t len = utf8_len(s, n);

    *code = len == 0 ? '?' : len == 1 ? (uint8_t)*s : (uint8_t)*s & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        *code = *code << 6 | ((uint8_t)s[i] & 0x3fu);
    return len > 0 ? len : 1;
}

/* C0, DEL and C1: terminals obey all of them; and what turns the order of the text about it (bidi). */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void ctl_clean(struct buf *b, const char *s)
{
    size_t len;
    uint32_t code;

    for (; *s != '\0'; s += len) {
        len = next_code(s, UTF8_MAX, &code);
        if (code == '?' || is_control(code))
            buf_byte(b, '?');
        else
            buf_append(b, s, len);
    }
}

/* Places of a character on a terminal (Unicode's UAX 11: wide and full ones have two); a mark that
 * stands above another one has none. Not wcwidth(): where the locale is C, as for cron, for ssh and
 * in containers, it knows none of these; and terminals go by tables of their own. */
static unsigned places(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        unsigned places;
    } odd[] = {
        { 0x300, 0x36f, 0 },     { 0x1100, 0x115f, 2 },   { 0x200b, 0x200d, 0 },
        { 0x20d0, 0x20ff, 0 },   { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
        { 0xa960, 0xa97f, 2 },   { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
        { 0xfe00, 0xfe0f, 0 },   { 0xfe30, 0xfe6f, 2 },   { 0xff01, 0xff60, 2 },
        { 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
        { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
    };

    for (size_t i = 0; i < ARRAY_LEN(odd) && code >= odd[i].first; i++)
        if (code <= odd[i].last)
            return odd[i].places;
    return 1;
}

size_t ctl_width(const char *s, size_t n)
{
    size_t width = 0, len;
    uint32_t code;

    for (size_t i = 0; i < n; i += len) {
        len = next_code(s + i, n - i, &code);
        width += places(code);
    }
    return width;
}

void ctl_pad(struct buf *b, const char *s, size_t width)
{
    size_t from = b->len, n;

    ctl_clean(b, s);
    if (b->failed)
        return;
    for (n = ctl_width((const char *)b->data + from, b->len - from); n < width; n++)
        buf_byte(b, ' ');
}

void ctl_clean_json(struct buf *b, const char *s, size_t n)
{
    size_t len;
    uint32_t code;

    for (size_t i = 0; i < n; i += len) {
        len = next_code(s + i, n - i, &code);
        if (is_control(code) && strchr("\n\r\t", (int)code) == NULL)
            buf_printf(b, "\\u%04x", code);
        else
            buf_append(b, s + i, len);
    }
}

/* Cells for part/of, never 0 for something and never all for less than everything. */
static size_t cells(uint64_t part, uint64_t of, size_t width)
{
    size_t n;

    if (part == 0 || of == 0)
        return 0;
    if (part >= of)
        return width;
    n = (size_t)((double)part / (double)of * (double)width + 0.5);
    if (n == 0)
        n = 1;
    return n >= width ? width - 1 : n;
}

void ctl_bar(struct buf *b, uint64_t held, uint64_t used, uint64_t of, size_t width)
{
    size_t h = cells(held, of, width);
    size_t u = cells(used > held ? used : held, of, width);

    buf_byte(b, '[');
    for (size_t i = 0; i < width; i++)
        buf_byte(b, i < h ? '#' : i < u ? '-' : '.');
    buf_byte(b, ']');
}

void ctl_count(struct buf *b, uint64_t v)
{
    char s[24];
    int n = snprintf(s, sizeof(s), "%" PRIu64, v);

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            buf_byte(b, ' ');
        buf_byte(b, (uint8_t)s[i]);
    }
}

void ctl_rate(struct buf *b, double per_s)
{
    if (!isfinite(per_s) || per_s < 0)
        buf_str(b, "?");
    else if (per_s > 0 && per_s < 10)
        buf_printf(b, "%.2g", per_s);
    else if (per_s < 1e15)
        ctl_count(b, (uint64_t)(per_s + 0.5));
    else
        buf_printf(b, "%g", per_s);
    buf_str(b, "/s");
}

void ctl_change(struct buf *b, double per_s)
{
    buf_str(b, per_s >= 0.05 ? "+" : per_s <= -0.05 ? "-" : "");
    ctl_rate(b, fabs(per_s) < 0.05 ? 0 : fabs(per_s));
}

#define YEAR_9999 253402300799.0 /* the last second */

void ctl_moment(struct buf *b, double s)
{
    time_t at = s > 0 && s <= YEAR_9999 ? (time_t)s : 0;
    char text[40];
    struct tm tm;

    if (at == 0 || gmtime_r(&at, &tm) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        buf_str(b, "-");
    else
        buf_str(b, text);
}

void ctl_span(struct buf *b, double s)
{
    if (!isfinite(s) || s < 0 || s > 1e10)
        buf_str(b, "?");
    else if (s < 120)
        buf_printf(b, "%.0f s", s);
    else if (s < 7200)
        buf_printf(b, "%.0f min", s / 60);
    else if (s < 172800)
        buf_printf(b, "%.1f h", s / 3600);
    else
        buf_printf(b, "%.0f days", s / 86400);
}
