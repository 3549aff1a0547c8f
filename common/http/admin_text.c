/* admin_text.c: texts of the admin server: problems, reasons, query strings. Pure. */
#include "common/http/admin_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/hex.h"
#include "common/http/problem.h"

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
