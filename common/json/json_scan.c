/* json_scan.c: see json_scan.h. */
#include "common/json/json_scan.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

static bool wrong(struct json_scan *s, const char *why)
{
    if (s->why == NULL)
        s->why = why;
    s->p = s->end;
    return false;
}

static bool no_json(struct json_scan *s)
{
    return wrong(s, "the body must be JSON in UTF-8");
}

/* ---- strings ---- */

/* A bit for each of the sixteen that is not plain ASCII within a string. */
static unsigned not_plain(const char *p)
{
    chars16 c = chars16_at(p);

    return chars16_mask(chars16_below(c, 0x20) | (chars16)(c == '"') | (chars16)(c == '\\'));
}

static const bool plain[256] = { [' ' ... '!'] = true, ['#' ... '['] = true,
                                 [']' ... 0x7f] = true };

/* To the first byte that is not plain ASCII within a string. */
static char *skip_plain(char *p, const char *end)
{
    for (; end - p >= 32; p += 32) {
        unsigned odd = not_plain(p) | not_plain(p + 16) << 16;

        if (odd != 0)
            return p + __builtin_ctz(odd);
    }
    if (end - p >= 16) {
        unsigned odd = not_plain(p);

        if (odd != 0)
            return p + __builtin_ctz(odd);
        p += 16;
    }
    while (p < end && plain[(uint8_t)*p])
        p++;
    return p;
}

static int hex4(const char *p)
{
    int v = 0;

    for (unsigned i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f'
                                                     ? (c | 0x20) - 'a' + 10 : -1;

        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

/* The length of the escape at p; 0: it is none. */
static unsigned escape_len(const char *p, const char *end)
{
    if (end - p < 2)
        return 0;
    if (p[1] == 'u')
        return end - p >= 6 && hex4(p + 2) >= 0 ? 6 : 0;
    return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL ? 2 : 0;
}

/* Behind the string that begins at s->p; *escaped: it has an escape. */
static bool skip_string(struct json_scan *s, bool *escaped)
{
    char *p = s->p + 1;
    unsigned n = 0;

    for (;; p += n) {
        p = skip_plain(p, s->end);
        if (p == s->end)
            return no_json(s);
        if (*p == '"')
            break;
        *escaped |= *p == '\\';
        n = *p == '\\'             ? escape_len(p, s->end)
            : (uint8_t)*p >= 0x80 ? (unsigned)utf8_len(p, (size_t)(s->end - p))
                                  : 0;
        if (n == 0)
            return no_json(s);
    }
    s->p = p + 1;
    return true;
}

static char *put_utf8(char *w, uint32_t c)
{
    if (c < 0x80) {
        *w++ = (char)c;
    } else if (c < 0x800) {
        *w++ = (char)(0xc0 | c >> 6);
        *w++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *w++ = (char)(0xe0 | c >> 12);
        *w++ = (char)(0x80 | (c >> 6 & 63));
        *w++ = (char)(0x80 | (c & 63));
    } else {
        *w++ = (char)(0xf0 | c >> 18);
        *w++ = (char)(0x80 | (c >> 12 & 63));
        *w++ = (char)(0x80 | (c >> 6 & 63));
        *w++ = (char)(0x80 | (c & 63));
    }
    return w;
}

/* The escape at *p, which is a sound one: the character, *p behind it. 0: a NUL, or half a pair. */
static uint32_t unescape(const char **p, const char *end)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *q = *p, *at = strchr(from, q[1]);
    int high, low;

    *p += 2;
    if (q[1] != 'u')
        return (uint8_t)(at != NULL ? to[at - from] : q[1]);
    *p += 4;
    high = hex4(q + 2);
    if (high < 0xd800 || high > 0xdfff)
        return (uint32_t)high;
    low = high < 0xdc00 && end - *p >= 6 && q[6] == '\\' && q[7] == 'u' ? hex4(q + 8) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *p += 6;
    return 0x10000 + ((uint32_t)(high - 0xd800) << 10 | (uint32_t)(low - 0xdc00));
}

/* A text's meaning is never longer than its spelling. */
static bool decode(struct json_scan *s, struct slice *t)
{
    const char *p = t->p, *end = t->p + t->n;
    char *w = t->p;

    while (p < end) {
        uint32_t c;

        if (*p != '\\') {
            *w++ = *p++;
            continue;
        }
        c = unescape(&p, end);
        if (c == 0)
            return no_json(s);
        w = put_utf8(w, c);
        assert(w <= p);
    }
    t->n = (size_t)(w - t->p);
    return true;
}

/* Reads a string with escapes, or characters beyond ASCII. */
static __attribute__((noinline)) bool odd_text(struct json_scan *s, struct slice *text)
{
    bool escaped = false;
    char *from = s->p + 1;

    if (!skip_string(s, &escaped))
        return false;
    *text = (struct slice){ from, (size_t)(s->p - 1 - from) };
    return !escaped || decode(s, text);
}

bool json_scan_text(struct json_scan *s, struct slice *text)
{
    char *from, *to;

    if (json_scan_peek(s) != '"')
        return wrong(s, s->p == s->end ? "the body must be JSON in UTF-8" : "a string is expected");
    from = s->p + 1;
    to = skip_plain(from, s->end);
    if (to == s->end || *to != '"')
        return odd_text(s, text);
    s->p = to + 1;
    *text = (struct slice){ from, (size_t)(to - from) };
    return true;
}

/* ---- values ---- */

static bool digits(struct json_scan *s)
{
    char *from = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > from;
}

static bool one_of(struct json_scan *s, char a, char b)
{
    bool is = s->p < s->end && (*s->p == a || *s->p == b);

    s->p += is;
    return is;
}

static bool number(struct json_scan *s)
{
    (void)one_of(s, '-', '-');
    if (!one_of(s, '0', '0') && !digits(s))
        return no_json(s);
    if (one_of(s, '.', '.') && !digits(s))
        return no_json(s);
    if (!one_of(s, 'e', 'E'))
        return true;
    (void)one_of(s, '+', '-');
    return digits(s) || no_json(s);
}

static bool word(struct json_scan *s, const char *w)
{
    size_t n = strlen(w);

    if ((size_t)(s->end - s->p) < n || memcmp(s->p, w, n) != 0)
        return no_json(s);
    s->p += n;
    return true;
}

/* A value that has none within it. */
static bool scalar(struct json_scan *s, char c)
{
    bool escaped = false;

    switch (c) {
    case '"':
        return skip_string(s, &escaped);
    case 't':
        return word(s, "true");
    case 'f':
        return word(s, "false");
    case 'n':
        return word(s, "null");
    default:
        return number(s);
    }
}

static bool name_and_colon(struct json_scan *s)
{
    bool escaped = false;

    if (json_scan_peek(s) != '"' || !skip_string(s, &escaped))
        return no_json(s);
    if (json_scan_peek(s) != ':')
        return no_json(s);
    s->p++;
    return true;
}

/* Behind a value that lies `depth` deep; bit i of `objects`: the i-th around it is one. The next
 * one begins there (true), or all are over (*depth 0; true), or it is no JSON. */
static bool after_value(struct json_scan *s, unsigned *depth, uint64_t *objects)
{
    while (*depth > 0) {
        bool object = *objects & 1;
        char c = json_scan_peek(s);

        s->p += c != '\0';
        if (c == ',')
            return !object || name_and_colon(s);
        if (c != (object ? '}' : ']'))
            return no_json(s);
        --*depth;
        *objects >>= 1;
    }
    return true;
}

bool json_scan_value(struct json_scan *s, struct slice *raw)
{
    unsigned depth = 0;
    uint64_t objects = 0;
    char *from;

    _Static_assert(JSON_SCAN_DEPTH <= 64, "a bit for each");
    (void)json_scan_peek(s);
    from = s->p;
    do {
        char c = json_scan_peek(s);

        if (c == '{' || c == '[') {
            s->deep = s->depth + ++depth > JSON_SCAN_DEPTH;
            if (s->deep)
                return wrong(s, "the JSON is nested too deeply");
            objects = objects << 1 | (c == '{');
            s->p++;
            if (json_scan_peek(s) != (c == '{' ? '}' : ']')) {
                if (c == '{' && !name_and_colon(s))
                    return false;
                continue;
            }
            s->p++;
            depth--;
            objects >>= 1;
        } else if (!scalar(s, c)) {
            return false;
        }
        if (!after_value(s, &depth, &objects))
            return false;
    } while (depth > 0);
    *raw = (struct slice){ from, (size_t)(s->p - from) };
    return true;
}

bool json_scan_is_whole(struct slice text)
{
    struct json_scan s;

    json_scan_init(&s, text);
    return json_scan_value(&s, &text) && json_scan_ends(&s);
}

/* ---- objects and lists ---- */

bool json_scan_enter(struct json_scan *s, char bracket)
{
    if (json_scan_peek(s) != bracket)
        return wrong(s, bracket == '{' ? "the body must be one JSON object in UTF-8"
                                       : "the body must be a JSON list in UTF-8");
    s->p++;
    s->depth++;
    return true;
}

/* True: there is another one. */
static bool another(struct json_scan *s, bool *first, char closing)
{
    char c = json_scan_peek(s);

    if (s->why != NULL)
        return false;
    if (c == closing) {
        s->p++;
        s->depth--;
        return false;
    }
    if (!*first && c != ',')
        return no_json(s);
    s->p += !*first;
    *first = false;
    return true;
}

bool json_scan_member(struct json_scan *s, bool *first, struct slice *name)
{
    if (!another(s, first, '}') || !json_scan_text(s, name))
        return false;
    if (json_scan_peek(s) != ':')
        return no_json(s);
    s->p++;
    return true;
}

bool json_scan_item(struct json_scan *s, bool *first)
{
    return another(s, first, ']');
}
