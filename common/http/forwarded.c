/* forwarded.c: lines of proxies: cut at commas outside quotes; the last pieces are walked from the
 * right. */
#include "common/http/forwarded.h"

#include <string.h>

#include "common/base/err.h"

struct pieces { /* a ring of the last ones */
    struct slice v[FORWARDED_MAX];
    size_t n; /* ever */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct slice trim(struct slice s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Where the first `sep` outside quotes is, or the end. Quotes exist in RFC 7239 only. */
static size_t cut(struct slice s, char sep, bool quotes)
{
    bool quoted = false;

    for (size_t i = 0; i < s.n; i++) {
        if (quotes && quoted && s.p[i] == '\\')
            i++;
        else if (quotes && s.p[i] == '"')
            quoted = !quoted;
        else if (!quoted && s.p[i] == sep)
            return i;
    }
    return s.n;
}

static void collect(struct pieces *out, struct slice line, bool quotes)
{
    for (;;) {
        size_t n = cut(line, ',', quotes);

        out->v[out->n++ % FORWARDED_MAX] = trim((struct slice) { line.p, n });
        if (n == line.n)
            return;
        line.p += n + 1;
        line.n -= n + 1;
    }
}

static bool all_digits(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9')
            return false;
    return n > 0 && n <= 5;
}

/* An address as proxies write it: 1.2.3.4, 1.2.3.4:5, ::1, [::1], [::1]:5 */
static bool address(struct ip *out, struct slice s)
{
    const char *end, *colon;

    if (s.n > 0 && s.p[0] == '[') {
        end = memchr(s.p, ']', s.n);
        if (end == NULL)
            return false;
        colon = end + 1;
        if (colon != s.p + s.n &&
            (*colon != ':' || !all_digits(colon + 1, (size_t)(s.p + s.n - colon - 1))))
            return false;
        return ip_parse(out, s.p + 1, (size_t)(end - s.p - 1)) && !ip_is_v4(out);
    }
    colon = memchr(s.p, ':', s.n);
    if (colon != NULL && memchr(s.p, '.', (size_t)(colon - s.p)) != NULL) {
        if (!all_digits(colon + 1, (size_t)(s.p + s.n - colon - 1)))
            return false;
        s.n = (size_t)(colon - s.p);
    }
    return ip_parse(out, s.p, s.n);
}

/* The `for` of one element; its value may be quoted (no escapes: addresses need none). */
static bool for_of(struct slice *out, struct slice element)
{
    bool found = false;

    while (element.n > 0) {
        size_t n = cut(element, ';', true), skip = n < element.n;
        struct slice pair = trim((struct slice) { element.p, n });

        if (pair.n > 4 && (pair.p[0] | 0x20) == 'f' && (pair.p[1] | 0x20) == 'o' &&
            (pair.p[2] | 0x20) == 'r' && pair.p[3] == '=') {
            if (found)
                return false;
            found = true;
            *out = (struct slice) { pair.p + 4, pair.n - 4 };
        }
        element.p += n + skip;
        element.n -= n + skip;
    }
    if (found && out->n >= 2 && out->p[0] == '"' && out->p[out->n - 1] == '"')
        *out = (struct slice) { out->p + 1, out->n - 2 };
    return found;
}

int forwarded_client(struct ip *out, enum forwarded_form form, const struct slice *lines,
                     size_t n_lines, const struct ip_net *proxies, size_t n_proxies)
{
    bool rfc = form == FORWARDED_RFC_7239;
    struct pieces all = { .n = 0 };
    size_t left;

    for (size_t i = 0; i < n_lines; i++)
        collect(&all, lines[i], rfc);
    left = all.n < FORWARDED_MAX ? all.n : FORWARDED_MAX;
    for (; left > 0; left--, all.n--) {
        struct slice s = all.v[(all.n - 1) % FORWARDED_MAX];
        struct ip ip;

        if ((rfc && !for_of(&s, s)) || !address(&ip, s))
            return SQ_EINVAL;
        if (ip_in_any(proxies, n_proxies, &ip))
            continue;
        *out = ip;
        return 1;
    }
    return 0;
}
