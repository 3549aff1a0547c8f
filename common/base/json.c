/* json.c: JSON in and out. Pure. */
#include "common/base/json.h"

#include <string.h>

#include "common/base/text.h"

static json_t *refuse(json_error_t *e, const char *p, const char *nul)
{
    if (e == NULL)
        return NULL;
    memset(e, 0, sizeof(*e));
    e->line = 1;
    for (; p < nul; p++)
        e->line += *p == '\n';
    strcpy(e->text, "a NUL is no JSON");
    return NULL;
}

json_t *json_in(const char *p, size_t n, json_error_t *e)
{
    const char *nul = n > 0 ? memchr(p, '\0', n) : NULL;

    if (nul != NULL)
        return refuse(e, p, nul);
    return json_loadb(n > 0 ? p : "", n, JSON_REJECT_DUPLICATES, e);
}

static bool is_plain(char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static bool is_plain_or_more(char c)
{
    return is_plain(c) || (uint8_t)c >= 0x80;
}

static void put_string(struct buf *b, const char *s, size_t n, bool (*stays)(char c))
{
    buf_byte(b, '"');
    for (size_t i = 0; i < n;) {
        size_t from = i;

        while (i < n && stays(s[i]))
            i++;
        buf_append(b, s + from, i - from);
        if (i == n)
            break;
        if (s[i] == '"' || s[i] == '\\') {
            buf_byte(b, '\\');
            buf_byte(b, (uint8_t)s[i]);
        } else {
            buf_byte(b, '?');
        }
        i++;
    }
    buf_byte(b, '"');
}

void json_ascii(struct buf *b, const char *s, size_t n)
{
    put_string(b, s, n, is_plain);
}

void json_utf8(struct buf *b, const char *s, size_t n)
{
    put_string(b, s, n, utf8_ok(s, n) ? is_plain_or_more : is_plain);
}
