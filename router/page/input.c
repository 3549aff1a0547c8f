/* input.c: forms, cookies, languages, targets. Pure. */
#include "router/page/input.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

/* ---- forms ---- */

static int64_t decode(struct slice v, char *out, size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < v.n; i++) {
        char c = v.p[i] == '+' ? ' ' : v.p[i];

        if (c == '%') {
            int byte = hex_byte(v.p + i + 1, v.p + v.n);

            if (byte < 0)
                return -1;
            c = (char)byte;
            i += 2;
        }
        if (c == '\0' || n + 1 >= cap)
            return -1;
        out[n++] = c;
    }
    assert(n < cap);
    out[n] = '\0';
    return (int64_t)n;
}

int64_t page_member(struct slice form, const char *name, char *out, size_t cap)
{
    size_t len = strlen(name);
    struct slice v = { NULL, 0 };

    for (size_t i = 0; i < form.n; i++) {
        size_t from = i;

        while (i < form.n && form.p[i] != '&')
            i++;
        if (i - from <= len || memcmp(form.p + from, name, len) != 0 ||
            form.p[from + len] != '=')
            continue;
        if (v.p != NULL)
            return -1;
        v = (struct slice) { form.p + from + len + 1, i - from - len - 1 };
    }
    return v.p != NULL ? decode(v, out, cap) : -1;
}

static bool is_bare(struct slice v)
{
    const char *colon = memchr(v.p, ':', v.n);

    if (v.n > 0 && v.p[0] == '/')
        return true;
    return colon != NULL && v.p + v.n - colon > 2 && memcmp(colon, "://", 3) == 0;
}

/* The first return= and all that follows; n 0: there is none, or it is not bare. */
static struct slice bare_return(struct slice query)
{
    for (size_t i = 0; i + 7 < query.n; i++) {
        struct slice v = { query.p + i + 7, query.n - i - 7 };

        if ((i == 0 || query.p[i - 1] == '&') && memcmp(query.p + i, "return=", 7) == 0)
            return is_bare(v) ? v : (struct slice){ NULL, 0 };
    }
    return (struct slice){ NULL, 0 };
}

int64_t page_return(struct slice query, char *out, size_t cap)
{
    struct slice v = bare_return(query);

    if (v.n == 0 || v.n >= cap)
        return page_member(query, "return", out, cap);
    memcpy(out, v.p, v.n);
    out[v.n] = '\0';
    return (int64_t)v.n;
}

int64_t page_own(struct slice query, const char *name, char *out, size_t cap)
{
    struct slice v = bare_return(query);

    assert(v.n <= query.n);
    query.n -= v.n;
    return page_member(query, name, out, cap);
}

/* ---- languages: RFC 9110 12.5.4, RFC 4647 3.4 ---- */

/* ";q=0.8" -> 800; anything else it cannot read counts as not wanted. */
static unsigned quality(struct slice s)
{
    unsigned q = 0, unit = 100;
    size_t i = 0;

    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
        i++;
    if (s.n - i < 3 || (s.p[i] | 0x20) != 'q' || s.p[i + 1] != '=')
        return 0;
    i += 2;
    if (s.p[i] == '1')
        return 1000;
    if (s.p[i] != '0')
        return 0;
    if (++i < s.n && s.p[i] == '.')
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && unit > 0; i++, unit /= 10)
            q += (unsigned)(s.p[i] - '0') * unit;
    return q;
}

/* The range begins with the tag, at the end of a subtag. */
static bool begins(struct slice range, const char *tag)
{
    size_t n = strlen(tag);

    return range.n >= n && strncasecmp(range.p, tag, n) == 0 &&
           (range.n == n || range.p[n] == '-');
}

/* Where Chinese is written in the old characters, and nothing else is said. */
static struct slice with_script(struct slice range)
{
    static const char *const old[] = { "zh-TW", "zh-HK", "zh-MO" };

    for (size_t i = 0; i < ARRAY_LEN(old); i++)
        if (begins(range, old[i]))
            return (struct slice) { (char *)"zh-Hant", 7 };
    return range;
}

/* RFC 4647, 3.4: the longest tag with which the range begins. Else one that begins with it:
 * "pt" is content with pt-br. */
size_t page_language_named(struct slice range, const char *const *tags, size_t n)
{
    size_t best = n, len = 0;

    range = with_script(range);
    for (size_t i = 0; i < n; i++)
        if (begins(range, tags[i]) && strlen(tags[i]) > len) {
            best = i;
            len = strlen(tags[i]);
        }
    for (size_t i = 0; best == n && range.n > 0 && i < n; i++)
        if (strlen(tags[i]) > range.n && tags[i][range.n] == '-' &&
            strncasecmp(tags[i], range.p, range.n) == 0)
            best = i;
    return best;
}

struct choice {
    size_t at;
    unsigned q;
};

static void consider(struct choice *c, struct slice range, const char *const *tags, size_t n)
{
    char *semi = memchr(range.p, ';', range.n);
    struct slice want = { range.p, semi != NULL ? (size_t)(semi - range.p) : range.n };
    unsigned q = semi == NULL ? 1000
                              : quality((struct slice) { semi + 1,
                                                         range.n - want.n - 1 });
    size_t at;

    at = page_language_named(slice_trim(want), tags, n);
    if (at < n && q > c->q)
        *c = (struct choice) { at, q };
}

size_t page_language(struct slice accept, const char *const *tags, size_t n, size_t other)
{
    struct choice c = { .at = other };

    for (size_t i = 0; i < accept.n; i++) {
        size_t from = i;

        while (i < accept.n && accept.p[i] != ',')
            i++;
        consider(&c, (struct slice) { accept.p + from, i - from }, tags, n);
    }
    return c.at;
}

/* ---- encodings: RFC 9110, 12.5.3 ---- */

/* Named, it counts as it is named; else what is said of all others. */
bool page_takes_gzip(struct slice accept)
{
    bool others = false;

    for (size_t i = 0; i < accept.n; i++) {
        struct slice one = { accept.p + i, 0 }, name;
        char *semi;
        bool wanted;

        while (i < accept.n && accept.p[i] != ',')
            i++;
        one.n = (size_t)(accept.p + i - one.p);
        semi = memchr(one.p, ';', one.n);
        name = slice_trim((struct slice) { one.p, semi != NULL ? (size_t)(semi - one.p) : one.n });
        wanted = semi == NULL ||
                 quality((struct slice) { semi + 1, (size_t)(one.p + one.n - semi - 1) }) > 0;
        if (name.n == 4 && strncasecmp(name.p, "gzip", 4) == 0)
            return wanted;
        if (name.n == 1 && name.p[0] == '*')
            others = wanted;
    }
    return others;
}

/* ---- targets ---- */

static bool has_origin(const char *to, size_t n, const char *origin)
{
    size_t k = strlen(origin);

    if (n < k || memcmp(to, origin, k) != 0)
        return false;
    return n == k || to[k] == '/' || to[k] == '?' || to[k] == '#';
}

/* Browsers drop tabs and line ends, read a backslash as a slash, and take what follows two
 * slashes for a host. A target with any of these is none. */
bool page_target_ok(const char *to, size_t n, char *const *origins, size_t n_origins)
{
    if (n == 0 || n > PAGE_TARGET_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)to[i] < 0x20 || to[i] == 0x7f || to[i] == '\\')
            return false;
    if (to[0] == '/')
        return n == 1 || to[1] != '/';
    for (size_t i = 0; i < n_origins; i++)
        if (has_origin(to, n, origins[i]))
            return true;
    return false;
}

void page_put_target(struct buf *b, const char *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)to[i];

        if (c > 0x20 && c < 0x7f && strchr("\"<>`{}|^\\", c) == NULL)
            buf_byte(b, c);
        else
            buf_percent(b, c);
    }
}

size_t page_target_origin(const char *to)
{
    const char *host = strstr(to, "://");

    if (to[0] == '/' || host == NULL)
        return 0;
    return (size_t)(host - to) + 3 + strcspn(host + 3, "/?#");
}

/* ---- the site of a form ---- */

/* "https://host:port" against "host:port". */
static bool is_host(struct slice origin, struct slice host)
{
    size_t at = origin.n > 8 && memcmp(origin.p, "https://", 8) == 0  ? 8
                : origin.n > 7 && memcmp(origin.p, "http://", 7) == 0 ? 7
                                                                      : 0;

    return at > 0 && host.n > 0 && origin.n - at == host.n &&
           memcmp(origin.p + at, host.p, host.n) == 0;
}

int page_same_site(const struct http_req *q)
{
    struct slice v;
    unsigned n = http_find(q, "sec-fetch-site", &v);

    if (n > 0)
        return n == 1 && slice_is(v, "same-origin") ? 1 : -1;
    n = http_find(q, "origin", &v);
    if (n == 0 || (n == 1 && slice_is(v, "null"))) /* null: what our Referrer-Policy makes of it */
        return 0;
    return n == 1 && is_host(v, q->host) ? 1 : -1;
}
