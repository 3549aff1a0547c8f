/* request_headers.c: the usual single line costs no look at the other fields. */
#include "common/http/request_headers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/http/http.h"

/* "a=b; c=d": the next pair of that name; false: none in the rest of this line. */
static bool in_line(struct slice *rest, const char *name, struct slice *v)
{
    size_t n = strlen(name);

    while (rest->n > 0) {
        const char *end = memchr(rest->p, ';', rest->n);
        struct slice pair = { rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n };

        rest->p += pair.n + (end != NULL);
        rest->n -= pair.n + (end != NULL);
        while (pair.n > 0 && (*pair.p == ' ' || *pair.p == '\t')) {
            pair.p++;
            pair.n--;
        }
        while (pair.n > 0 && (pair.p[pair.n - 1] == ' ' || pair.p[pair.n - 1] == '\t'))
            pair.n--;
        if (pair.n <= n || memcmp(pair.p, name, n) != 0 || pair.p[n] != '=')
            continue;
        *v = (struct slice){ pair.p + n + 1, pair.n - n - 1 };
        return true;
    }
    return false;
}

static bool next_line(struct cookies *c, const struct http_req *q)
{
    if (c->line == q->cookies)
        return false;
    if (c->line++ == 0) {
        c->rest = q->cookie;
        return true;
    }
    if (c->line == 2) { /* from the top: where the first one ended is not kept */
        c->after = q->fields;
        if (!http_next(&c->after, "cookie", &c->rest))
            return false;
    }
    return http_next(&c->after, "cookie", &c->rest);
}

bool cookie_next(struct cookies *c, const struct http_req *q, const char *name,
                 struct slice *v)
{
    do
        if (in_line(&c->rest, name, v))
            return true;
    while (next_line(c, q));
    return false;
}

void admin_problem(struct admin_ans *a, int status, const char *code, const char *fmt,
                   ...)
{
    char detail[sizeof(((struct err *)0)->text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(detail, sizeof(detail), fmt, ap);
    va_end(ap);
    a->status = status;
    a->content_type = PROBLEM_TYPE;
    buf_reset(&a->body);
    problem_open(&a->body, status, code, detail, a->request_id);
    buf_str(&a->body, "}\n");
}

bool admin_unescape(const char *s, size_t n, bool plus, char *out, size_t cap)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)s[i];

        if (c == '%') {
            c = hex_byte(s + i + 1, s + n);
            if (c < 0)
                return false;
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c < ' ' || c == 0x7f || len + 1 >= cap)
            return false;
        out[len++] = (char)c;
    }
    if (cap == 0)
        return false;
    out[len] = '\0';
    return true;
}

/* The value, of *len bytes; NULL: there is none. */
static const char *find(const char *query, const char *name, size_t *len)
{
    size_t name_len = strlen(name);

    while (*query != '\0') {
        size_t n = strcspn(query, "&");

        *len = n - name_len - 1;
        if (n > name_len && query[name_len] == '=' && memcmp(query, name, name_len) == 0)
            return query + name_len + 1;
        query += n + (query[n] == '&');
    }
    return NULL;
}

bool admin_query(const char *query, const char *name, char *out, size_t cap)
{
    size_t len;
    const char *text = find(query, name, &len);

    return text != NULL && admin_unescape(text, len, true, out, cap);
}

bool admin_query_has(const char *query, const char *name)
{
    size_t len;

    return find(query, name, &len) != NULL;
}

/* "deflate, gzip;q=0.5": gzip is there, and not with a weight of 0. */
bool admin_takes_gzip(const char *value)
{
    const char *p = value;

    while ((p = strstr(p, "gzip")) != NULL) {
        p += 4;
        p += strspn(p, " ;");
        if (strncmp(p, "q=", 2) != 0 || p[2 + strspn(p + 2, "0.")] > '0')
            return true;
    }
    return false;
}

/* ---- lines of proxies: cut at commas outside quotes; the last pieces are walked from the right ---- */

struct pieces { /* a ring of the last ones */
    struct slice v[FORWARDED_MAX];
    size_t n; /* ever */
};

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

        out->v[out->n++ % FORWARDED_MAX] = slice_trim((struct slice) { line.p, n });
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
        struct slice pair = slice_trim((struct slice) { element.p, n });

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
