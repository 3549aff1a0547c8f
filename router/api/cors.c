/* cors.c: origins of a short list, and the lines for each, made once. Pure. */
#include "router/api/cors.h"

#include <stdlib.h>
#include <string.h>

#define SAYS                                                                             \
    "Access-Control-Expose-Headers: Location, Retry-After, ETag\r\n"                     \
    "Vary: Origin\r\n"
#define MAY                                                                              \
    "Access-Control-Allow-Headers: Content-Type, Idempotency-Key, Last-Event-ID, Prefer, " \
    "If-None-Match, segq-challenge, segq-verify\r\n"                                                                  \
    "Access-Control-Max-Age: 7200\r\n"

struct origin {
    struct buf name;            /* "" = any */
    struct buf lines, join, one; /* 0-terminated: all answers; preflights of the two paths */
};

struct cors {
    size_t n;
    struct origin v[];
};

/* scheme://host[:port], as browsers send it: small letters, no path, no default port. */
bool cors_is_origin(const char *s)
{
    const char *p = s;

    if (strcmp(p, "*") == 0)
        return true;
    if (strncmp(p, "https://", 8) == 0)
        p += 8;
    else if (strncmp(p, "http://", 7) == 0)
        p += 7;
    else
        return false;
    return *p != '\0' && p[strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]")] == '\0';
}

static void lines_make(struct buf *b, const char *name, const char *more)
{
    buf_init(b);
    buf_str(b, "Access-Control-Allow-Origin: ");
    buf_str(b, name);
    buf_str(b, "\r\n" SAYS);
    buf_str(b, more);
    buf_byte(b, 0);
}

static bool origin_make(struct origin *o, const char *name)
{
    buf_init(&o->name);
    if (strcmp(name, "*") != 0)
        buf_str(&o->name, name);
    lines_make(&o->lines, name, "");
    lines_make(&o->join, name, "Access-Control-Allow-Methods: POST\r\n" MAY);
    lines_make(&o->one, name, "Access-Control-Allow-Methods: GET, HEAD, PUT, DELETE\r\n" MAY);
    return !o->name.failed && !o->lines.failed && !o->join.failed && !o->one.failed;
}

int cors_new(struct cors **out, char *const *origins, size_t n, struct err *e)
{
    struct cors *c;

    *out = NULL;
    if (n == 0)
        return 0;
    c = calloc(1, sizeof(*c) + n * sizeof(c->v[0]));
    if (c == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    for (; c->n < n; c->n++)
        if (!origin_make(&c->v[c->n], origins[c->n])) {
            c->n++;
            cors_free(c);
            return err_set(e, SQ_ENOMEM, "out of memory");
        }
    *out = c;
    return 0;
}

void cors_free(struct cors *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->n; i++) {
        buf_fini(&c->v[i].name);
        buf_fini(&c->v[i].lines);
        buf_fini(&c->v[i].join);
        buf_fini(&c->v[i].one);
    }
    free(c);
}

bool cors_preflight(const struct http_req *q, const struct api_req *a)
{
    struct slice v;

    return q->method == HTTP_OPTIONS && a->open && a->allow != NULL &&
           http_find(q, "access-control-request-method", &v) == 1;
}

const char *cors_lines(const struct cors *c, const struct http_req *q,
                       const struct api_req *a)
{
    struct slice v;

    if (c == NULL || !a->open || http_find(q, "origin", &v) != 1)
        return NULL;
    for (size_t i = 0; i < c->n; i++) {
        const struct origin *o = &c->v[i];

        if (o->name.len != 0 &&
            (o->name.len != v.n || memcmp(o->name.data, v.p, v.n) != 0))
            continue;
        if (q->method != HTTP_OPTIONS || a->allow == NULL)
            return (const char *)o->lines.data;
        return (const char *)(strcmp(a->allow, "POST") == 0 ? o->join.data : o->one.data);
    }
    return NULL;
}
