/* bound.c: see bound.h. */
#include "common/ticket/bound.h"

#include <string.h>

bool bound_htm_ok(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return n > 0 && n <= BOUND_HTM_MAX && s[n] == '\0';
}

/* Nothing that a server could read in another way, or that JSON would escape. */
bool bound_htu_ok(const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/";
    size_t n = strspn(s, plain);

    return s[0] == '/' && n <= BOUND_HTU_MAX && s[n] == '\0' && strstr(s, "//") == NULL &&
           strstr(s, "/.") == NULL;
}

size_t bound_write(const struct bound *b, char out[BOUND_MAX])
{
    size_t m = strlen(b->htm), u = strlen(b->htu);

    if (!b->once && m == 0 && u == 0)
        return 0;
    out[0] = b->once ? '1' : '-';
    memcpy(out + 1, b->htm, m);
    out[1 + m] = ' ';
    memcpy(out + 2 + m, b->htu, u);
    return 2 + m + u;
}

bool bound_read(struct bound *b, const char *p, size_t n)
{
    const char *blank = n > 1 ? memchr(p + 1, ' ', n - 1) : NULL;
    size_t m = blank != NULL ? (size_t)(blank - p - 1) : 0, u = n - m - 2;

    *b = (struct bound){ 0 };
    if (blank == NULL || (p[0] != '1' && p[0] != '-') || m > BOUND_HTM_MAX || u > BOUND_HTU_MAX)
        return false;
    b->once = p[0] == '1';
    memcpy(b->htm, p + 1, m);
    memcpy(b->htu, blank + 1, u);
    return (m == 0 || bound_htm_ok(b->htm)) && (u == 0 || bound_htu_ok(b->htu));
}
