/* http_framing.h: what the fields of a head say about its body and its connection (RFC 9112 6, 9);
 * for http.c (requests) and http_answer.c, which judge it. Pure. Inline: each request passes here. */
#ifndef SEGQ_HTTP_FRAMING_H
#define SEGQ_HTTP_FRAMING_H

#include "common/http/http_scan.h"

struct http_framing { /* zero it, and set max_length */
    unsigned lengths, codings;   /* lines of Content-Length, Transfer-Encoding */
    uint64_t length, max_length; /* at most 2^60 */
    bool bad_length, big_length, conn_close, conn_keep, chunked;
    bool lengths_differ;
    bool refuse_coding; /* chunked behind something that we do not do */
};

static inline bool http_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline void http_on_length(struct http_framing *f, struct slice v)
{
    uint64_t length = 0;

    f->lengths++;
    if (v.n == 0 || !http_digits(v.p, v.n)) {
        f->bad_length = true;
        return;
    }
    for (size_t i = 0; i < v.n; i++) {
        length = length * 10 + (uint64_t)(v.p[i] - '0');
        if (length > f->max_length) {
            f->big_length = true;
            return;
        }
    }
    f->lengths_differ |= f->lengths > 1 && length != f->length;
    f->length = length;
}

static inline void http_on_coding(struct http_framing *f, struct slice v)
{
    f->codings++;
    if (v.n == 7 && http_ieq(v.p, "chunked", 7))
        f->chunked = true;
    else if (v.n > 7 && http_ieq(v.p + v.n - 7, "chunked", 7) &&
             (http_blank(v.p[v.n - 8]) || v.p[v.n - 8] == ','))
        f->refuse_coding = true;
}

/* False: an option that says nothing to us. */
static inline bool http_on_option(struct http_framing *f, const char *p, size_t n)
{
    bool closes = n == 5 && http_ieq(p, "close", 5), keeps = n == 10 && http_ieq(p, "keep-alive", 10);

    f->conn_close |= closes;
    f->conn_keep |= keeps;
    return closes || keeps;
}

/* A list: members between commas, blanks around them. Nearly always there is one. */
static inline void http_on_connection(struct http_framing *f, struct slice v)
{
    const char *p = v.p, *end = v.p + v.n;

    if (SQ_LIKELY(http_on_option(f, v.p, v.n)))
        return;
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *to = comma != NULL ? comma : end, *next = to + 1;

        while (p < to && http_blank(*p))
            p++;
        while (to > p && http_blank(to[-1]))
            to--;
        (void)http_on_option(f, p, (size_t)(to - p));
        p = next;
    }
}

static inline bool http_keeps_alive(const struct http_framing *f, int minor)
{
    return !f->conn_close && (minor == 1 || f->conn_keep);
}

#endif
