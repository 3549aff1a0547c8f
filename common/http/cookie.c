/* cookie.c: see cookie.h. Pure. The usual single line costs no look at the other fields. */
#include "common/http/cookie.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/http/problem.h"

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
