/* text.c: see the header. */
#include "queuemng/ctl_view/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATH_MOST 60 /* bytes of a path in our sentences, and its end */

/* ---- members ---- */

/* The name up to `end`; what is behind that, or NULL. */
static const char *part(const char *path, char end, char name[PATH_MOST])
{
    const char *at = strchr(path, end);
    size_t n = at != NULL ? (size_t)(at - path) : strlen(path);

    assert(n < PATH_MOST);
    memcpy(name, path, n);
    name[n] = '\0';
    return at != NULL ? at + 1 : NULL;
}

const json_t *ctl_member(const json_t *o, const char *path)
{
    char name[PATH_MOST];

    for (; path != NULL; o = json_object_get(o, name))
        path = part(path, '.', name);
    return o;
}

const char *ctl_str(const json_t *o, const char *path)
{
    const char *s = json_string_value(ctl_member(o, path));

    return s != NULL && *s != '\0' ? s : "-";
}

uint64_t ctl_u64(const json_t *o, const char *path)
{
    char name[PATH_MOST];
    const char *rest = part(path, '+', name);
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

/* ---- sentences ---- */

/* Writes a member in the format of its mark; another character is none: a text. */
static void put_as(struct buf *b, const json_t *o, const char *path, char mark)
{
    json_int_t id = json_integer_value(ctl_member(o, path));
    double v = ctl_f64(o, path);

    if (mark == '#')
        ctl_count(b, ctl_u64(o, path));
    else if (mark == '=')
        buf_u64(b, ctl_u64(o, path));
    else if (mark == '%')
        buf_printf(b, "%.10g", v);
    else if (mark == '/')
        ctl_rate(b, v);
    else if (mark == '~' || mark == '^')
        ctl_span(b, mark == '~' ? v / 1000 : v);
    else if (mark == '@' || mark == '*')
        ctl_moment(b, mark == '*' ? v / 1000 : v);
    else if (mark == '!' && id != 0)
        buf_i64(b, id);
    else
        ctl_clean(b, ctl_str(o, path));
}

/* "?up", "?waiting=1", "+value" */
static bool holds(const json_t *o, const char *test)
{
    char path[PATH_MOST];
    const char *text = part(test + 1, '=', path);
    const json_t *m = ctl_member(o, path);

    if (*test == '+')
        return json_is_number(m);
    if (text != NULL)
        return ctl_equals(o, path, text) || (*text == '1' && ctl_u64(o, path) == 1);
    return json_is_true(m) || json_number_value(m) > 0 || ctl_u64(o, path) > 0 ||
        json_string_length(m) > 0 ||
           json_array_size(m) > 0 || json_object_size(m) > 0;
}

/* The mark, or the closing brace, behind p: braces in between are passed over in pairs. */
static const char *mark_behind(const char *p, char mark)
{
    for (unsigned depth = 0; depth > 0 || (*p != mark && *p != '}'); p++) {
        assert(*p != '\0');
        depth += (*p == '{') - (*p == '}');
    }
    return p;
}

/* Is it a member's name, or a sum of them? Another character is a mark that is none. */
static bool is_path(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr("abcdefghijklmnopqrstuvwxyz0123456789_.+", p[i]) == NULL)
            return false;
    return n > 0 && n < PATH_MOST;
}

/* b NULL: it is only read. The case that is not said is read, too, so that a wrong sentence is found
 * whatever it is about. */
static void say(struct buf *b, const json_t *o, const char *p, const char *end);

/* p is behind the brace; returns its closing one. */
static const char *say_case(struct buf *b, const json_t *o, const char *p)
{
    const char *yes, *bar, *end;
    char test[PATH_MOST];
    bool is;

    yes = part(p, ':', test);
    assert(yes != NULL && is_path(test + 1, strcspn(test + 1, "=")));
    bar = mark_behind(yes, '|');
    end = *bar == '|' ? mark_behind(bar + 1, '}') : bar;
    assert(*end == '}');
    is = holds(o, test);
    say(is ? b : NULL, o, yes, bar);
    if (bar < end)
        say(is ? NULL : b, o, bar + 1, end);
    return end;
}

static const char *say_member(struct buf *b, const json_t *o, const char *p)
{
    const char *end = mark_behind(p, '}');
    size_t n = (size_t)(end - p) - (strchr("#=%/~^@*!", end[-1]) != NULL);
    char path[PATH_MOST];

    assert(*end == '}' && is_path(p, n));
    memcpy(path, p, n);
    path[n] = '\0';
    if (b != NULL)
        put_as(b, o, path, end[-1]);
    return end;
}

static void say(struct buf *b, const json_t *o, const char *p, const char *end)
{
    while (p < end) {
        const char *brace = memchr(p, '{', (size_t)(end - p));
        size_t n = (size_t)((brace != NULL ? brace : end) - p);

        assert(memchr(p, '}', n) == NULL);
        if (b != NULL)
            buf_append(b, p, n);
        if (brace == NULL)
            return;
        p = (brace[1] == '?' || brace[1] == '+' ? say_case : say_member)(b, o, brace + 1) + 1;
    }
}

void ctl_say(struct buf *b, const json_t *o, const char *sentence)
{
    say(b, o, sentence, sentence + strlen(sentence));
}

/* ---- text, bars, numbers ---- */

/* U+061C; U+200E, 200F; U+2028 to 202E; U+2066 to 2069: they turn the order of the text about
 * them. */
static bool is_bidi(const unsigned char *s)
{
    if (s[0] == 0xd8)
        return s[1] == 0x9c;
    if (s[0] != 0xe2)
        return false;
    return s[1] == 0x80   ? s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae)
           : s[1] == 0x81 ? s[2] >= 0xa6 && s[2] <= 0xa9
                          : false;
}

/* C0, DEL, and C1 as UTF-8 writes it (C2 80..9F): terminals obey all of them. s ends with a
 * zero. */
static size_t control_len(const unsigned char *s)
{
    if (s[0] < 0x20 || s[0] == 0x7f)
        return 1;
    if (is_bidi(s))
        return s[0] == 0xd8 ? 2 : 3;
    return s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 ? 2 : 0;
}

void ctl_clean(struct buf *b, const char *s)
{
    const unsigned char *p = (const unsigned char *)s;

    while (*p != '\0') {
        size_t n = control_len(p);

        buf_byte(b, n > 0 ? '?' : *p);
        p += n > 0 ? n : 1;
    }
}

void ctl_texts(struct buf *b, const json_t *list, const char *none)
{
    const json_t *x;
    size_t i;

    json_array_foreach(list, i, x) {
        buf_str(b, i > 0 ? "," : "");
        ctl_clean(b, json_is_string(x) ? json_string_value(x) : "?");
    }
    if (json_array_size(list) == 0)
        buf_str(b, none);
}

size_t ctl_width(const char *s, size_t n)
{
    size_t characters = 0;

    for (size_t i = 0; i < n; i++)
        characters += ((unsigned char)s[i] & 0xc0) != 0x80;
    return characters;
}

void ctl_pad(struct buf *b, const char *s, size_t width)
{
    ctl_clean(b, s);
    for (size_t n = ctl_width(s, strlen(s)); n < width; n++)
        buf_byte(b, ' ');
}

static unsigned code_of(const unsigned char *p, size_t n)
{
    return n == 1 ? p[0] : n == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                         : (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

void ctl_clean_json(struct buf *b, const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;

    while (p < end) {
        size_t len = *p == '\n' || *p == '\r' || *p == '\t' ? 0 : control_len(p);

        if (len > 0)
            buf_printf(b, "\\u%04x", code_of(p, len));
        else
            buf_byte(b, *p);
        p += len > 0 ? len : 1;
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

void ctl_moment(struct buf *b, double s)
{
    time_t at = (time_t)s;
    char text[40];
    struct tm tm;

    if (s <= 0 || gmtime_r(&at, &tm) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        buf_str(b, "-");
    else
        buf_str(b, text);
}

void ctl_span(struct buf *b, double s)
{
    if (!isfinite(s) || s < 0 || s > 1e9)
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
