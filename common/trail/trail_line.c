/* trail_line.c: lines are written by hand: a crowd makes a hundred thousand a second, and
 * the thread that makes them has people to serve. */
#include "common/trail/trail_line.h"

#include <string.h>

#include "common/recur/date.h"

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Bytes that stand for themselves: mostly all of them. */
static size_t plain_run(const unsigned char *s, size_t n)
{
    size_t i = 0;

    while (i < n && is_plain(s[i]))
        i++;
    return i;
}

void jline_quoted(struct jline *o, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *s = (const unsigned char *)text;

    *o->p++ = '"';
    for (size_t i = 0, len; i < n; i += len != 0 ? len : 1) {
        len = plain_run(s + i, n - i);
        if (len > 0) {
            jline_raw(o, text + i, len);
            continue;
        }
        len = utf8_len(text + i, n - i);
        if (len == 0) {
            jline_raw(o, "\\ufffd", 6);
        } else if (s[i] == '"' || s[i] == '\\') {
            *o->p++ = '\\';
            *o->p++ = (char)s[i];
        } else if (s[i] < 0x20 || s[i] == 0x7f) {
            jline_raw(o, "\\u00", 4);
            *o->p++ = hex[s[i] >> 4];
            *o->p++ = hex[s[i] & 15];
        } else {
            jline_raw(o, text + i, len);
        }
    }
    *o->p++ = '"';
}

void jline_moment(struct jline *o, const char *key, int64_t wall_ms)
{
    jline_name(o, key);
    *o->p++ = '"';
    o->p = trail_time(o->p, wall_ms);
    *o->p++ = '"';
}

/* ---- days ---- */

static char *put_day(char *p, int64_t days)
{
    int y, m, d;

    date_of_day(days, &y, &m, &d);
    p = text_padded(p, 4, (unsigned)(y < 0 ? 0 : y > 9999 ? 9999 : y));
    *p++ = '-';
    p = text_padded(p, 2, (unsigned)m);
    *p++ = '-';
    return text_padded(p, 2, (unsigned)d);
}

/* A clock before 1970 is nobody's: what it says is told as its beginning. */
void trail_day(int64_t wall_ms, char *out)
{
    *put_day(out, (wall_ms > 0 ? wall_ms : 0) / TRAIL_DAY_MS) = '\0';
}

static bool number(const char *p, unsigned n, int64_t *v)
{
    *v = 0;
    for (unsigned i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *v = *v * 10 + (p[i] - '0');
    }
    return true;
}

int64_t trail_day_parse(const char *text, size_t len)
{
    char again[TRAIL_DAY_LEN];
    int64_t y, m, d, days;

    if (len != TRAIL_DAY_LEN || text[4] != '-' || text[7] != '-' ||
        !number(text, 4, &y) || !number(text + 5, 2, &m) || !number(text + 8, 2, &d) ||
        y < 1970 || m < 1 || m > 12 || d < 1)
        return -1;
    days = day_of_date(y, m, d);
    put_day(again, days);
    return memcmp(again, text, TRAIL_DAY_LEN) == 0 ? days : -1; /* 30 February is none */
}

char *trail_time(char *p, int64_t wall_ms)
{
    int64_t at = wall_ms > 0 ? wall_ms : 0, ms = at % TRAIL_DAY_MS;

    p = put_day(p, at / TRAIL_DAY_MS);
    *p++ = 'T';
    p = text_padded(p, 2, (unsigned)(ms / 3600000));
    *p++ = ':';
    p = text_padded(p, 2, (unsigned)(ms / 60000 % 60));
    *p++ = ':';
    p = text_padded(p, 2, (unsigned)(ms / 1000 % 60));
    *p++ = '.';
    p = text_padded(p, 3, (unsigned)(ms % 1000));
    *p++ = 'Z';
    return p;
}
