/* trail_line.c: lines are written by hand: a crowd makes a hundred thousand a second, and
 * the thread that makes them has people to serve. */
#include "common/trail/trail_line.h"

#include "common/trail/trail_day.h"

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
