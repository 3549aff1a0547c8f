/* http_scan.h: character classes and scanning, for the other http*.c. Pure. Private.
 *
 * A scan goes over bytes once, in order, and stops at the first one that decides; so the
 * outcome depends on the bytes alone, never on where the network cut them. Each step
 * returns 1 (done), 0 (more bytes needed) or -(HTTP status).
 * Sixteen bytes are looked at together, so up to HTTP_SLACK behind the last one are read. */
#ifndef SEGQ_HTTP_SCAN_H
#define SEGQ_HTTP_SCAN_H

#include "common/base/text.h"
#include "common/http/http.h"

/* A class of characters, for chars16_in(): by the low half of one, bits of the high halves. */
struct http_class {
    uint8_t high[16];
};

extern const struct http_class http_token, /* RFC 9110 5.6.2 */
    http_path,  /* RFC 3986 pchar and '/' */
    http_query, /* characters that browsers leave unescaped there, too: | { } [ ] ^ ` \ */
    http_host,  /* reg-name */
    http_hex;

static inline bool http_is(char c, const struct http_class *k)
{
    return k->high[(uint8_t)c & 15] >> ((uint8_t)c >> 4) & 1;
}

/* Index of the first of the sixteen at p that is not of the class; 16: none. */
static inline unsigned http_first_not(const char *p, const struct http_class *k)
{
    chars16 rows;

    memcpy(&rows, k->high, 16);
    return chars16_first((chars16)(chars16_in(chars16_at(p), rows) == 0));
}

/* Behind the characters at p that are of the class. What lies behind `end` may be read. */
static inline char *http_skip(char *p, char *end, const struct http_class *k)
{
    unsigned n = 16;

    for (; n == 16 && p < end; p += n)
        n = http_first_not(p, k);
    return p < end ? p : end;
}

struct http_cur {
    char *p, *end;
    int over; /* `end` is a limit: the status; 0: more bytes may come */
};

/* Sets the cursor's end to what there is, at most `max` bytes after `from`. */
static inline void http_limit(struct http_cur *c, char *from, size_t max, char *end,
                              int status)
{
    bool over = (size_t)(end - from) >= max;

    c->end = over ? from + max : end;
    c->over = over ? status : 0;
}

static inline int http_short(const struct http_cur *c)
{
    return -c->over;
}

/* A bit for each of the sixteen at p that is a control character: TAB is one. */
static inline unsigned http_controls(const char *p)
{
    chars16 c = chars16_at(p);

    return chars16_mask((chars16)(c < 0x20) | (chars16)(c == 0x7f));
}

/* A bit for each of the sixteen at p that is one of ' '..'~': no control character, and ASCII. One
 * more is then above ' ', as a signed number. */
static inline unsigned http_plain(const char *p)
{
    typedef int8_t signed16 __attribute__((vector_size(16)));

    return chars16_mask((chars16)((signed16)(chars16_at(p) + 1) > ' '));
}

/* First byte in p..end that is a control character other than TAB (or end). */
char *http_plain_end(char *p, char *end);
/* At a control character: it must be CR, LF; moves behind them. */
int http_crlf(struct http_cur *c);

struct http_field {
    struct slice name, value;
};
/* Reads a field line, or (name.n == 0) the empty line that ends them.
 * *in_value: the bytes ended inside a value, with nothing wrong so far. */
int http_field(struct http_cur *c, struct http_field *f, bool *in_value);
bool http_digits(const char *p, size_t n); /* nothing else; true of no byte */

static inline size_t http_max_body(const struct http_state *st)
{
    return st->max_body != 0 ? st->max_body : HTTP_MAX_BODY;
}

/* ---- what the fields of a head say about its body and its connection (RFC 9112 6, 9) ----
 *
 * For http.c (requests) and http_answer.c, which judge it. Inline: each request passes here. */

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

/* ---- chunked bodies: of requests, for http.c; and their lines, for http_answer.c ---- */

/* The body, once the head is complete: > 0 bytes of the whole request, else as
 * http_parse. */
int64_t http_chunked(struct http_state *st, struct http_req *r, char *buf, size_t n);
/* The line in front of a chunk, with its end; more than `max` bytes: 413. 1, 0, -status: as
 * http_scan.h says. */
int http_chunk_line(struct http_cur *c, size_t max, size_t *size);
/* Field lines after the last chunk, and the empty line: checked, counted, dropped. */
int http_trailers(struct http_cur *c);

/* ---- the request line, for http.c ------------------------------------------------- */

/* Method, path, query, minor version, and the host of an absolute target, up to the line's
 * end. 1, 0, -status: as http_scan.h says. */
int http_request_line(struct http_cur *c, struct http_req *r);
/* uri-host [ ":" port ]; may be empty (RFC 9112 3.2). */
bool http_host_good(struct slice h);

#endif
