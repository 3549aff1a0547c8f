/* reply.c: line by line. A line that is here as a whole (nearly all are) is read in place;
 * of one that is cut, the start is kept. */
#include "tests/bench/load/reply.h"

#include <string.h>
#include <strings.h>

#include "common/base/err.h"

#define LENGTH_MAX (1u << 30)

void reply_start(struct reply *r)
{
    memset(r, 0, offsetof(struct reply, line));
}

static bool starts(const char *s, size_t n, const char *name, size_t len)
{
    return n >= len && strncasecmp(s, name, len) == 0;
}
#define STARTS(s, n, name) starts((s), (n), (name), sizeof(name) - 1)

static int on_status(struct reply *r, const char *s, size_t n)
{
    unsigned status = 0;

    if (n < 12 || memcmp(s, "HTTP/1.", 7) != 0 || s[8] != ' ')
        return SQ_EPROTO;
    for (unsigned i = 9; i < 12; i++) {
        if (s[i] < '0' || s[i] > '9')
            return SQ_EPROTO;
        status = status * 10 + (unsigned)(s[i] - '0');
    }
    if (status < 100 || status > 599 || (n > 12 && s[12] != ' '))
        return SQ_EPROTO;
    r->status = (uint16_t)status;
    r->state = REPLY_HEADER;
    return 0;
}

static int on_length(struct reply *r, const char *s, size_t n)
{
    uint64_t v = 0;
    size_t i = 0;

    while (i < n && (s[i] == ' ' || s[i] == '\t'))
        i++;
    while (n > i && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    if (i == n || r->has_length)
        return SQ_EPROTO;
    for (; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || v > LENGTH_MAX)
            return SQ_EPROTO;
        v = v * 10 + (uint64_t)(s[i] - '0');
    }
    r->left = v;
    r->has_length = true;
    return 0;
}

/* Whether a value is this word, blanks aside. */
static bool is_word(const char *s, size_t n, const char *word)
{
    while (n > 0 && *s == ' ') {
        s++;
        n--;
    }
    while (n > 0 && s[n - 1] == ' ')
        n--;
    return n == strlen(word) && strncasecmp(s, word, n) == 0;
}

static int on_header(struct reply *r, const char *s, size_t n)
{
    char first = (char)(s[0] | 0x20);

    if (first != 'c' && first != 't')
        return 0;
    if (STARTS(s, n, "content-length:"))
        return on_length(r, s + 15, n - 15);
    if (STARTS(s, n, "connection:"))
        r->close = is_word(s + 11, n - 11, "close");
    if (STARTS(s, n, "transfer-encoding:")) {
        r->chunked = is_word(s + 18, n - 18, "chunked");
        return r->chunked ? 0 : SQ_EPROTO;
    }
    return 0;
}

static int on_head_end(struct reply *r)
{
    if (r->status < 200) { /* an interim answer: the real one follows */
        reply_start(r);
        return 0;
    }
    if (r->status == 204 || r->status == 304)
        r->state = REPLY_DONE;
    else if (r->chunked)
        r->state = REPLY_CHUNK_SIZE;
    else if (r->has_length)
        r->state = r->left != 0 ? REPLY_BODY : REPLY_DONE;
    else
        return SQ_EPROTO;
    return 0;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int on_chunk_size(struct reply *r, const char *s, size_t n)
{
    uint64_t v = 0;
    size_t i;

    for (i = 0; i < n && hex(s[i]) >= 0; i++) {
        v = v * 16 + (uint64_t)hex(s[i]);
        if (v > LENGTH_MAX)
            return SQ_EPROTO;
    }
    if (i == 0 || (i < n && s[i] != ';' && s[i] != ' '))
        return SQ_EPROTO;
    r->left = v;
    r->state = v != 0 ? REPLY_CHUNK : REPLY_TRAILER;
    return 0;
}

static int on_line(struct reply *r, const char *s, size_t n)
{
    if (n > 0 && s[n - 1] == '\r')
        n--;
    switch (r->state) {
    case REPLY_STATUS:
        return on_status(r, s, n);
    case REPLY_HEADER:
        return n == 0 ? on_head_end(r) : on_header(r, s, n);
    case REPLY_CHUNK_SIZE:
        r->head = 0; /* the limit is for each, or a long stream would meet it */
        return on_chunk_size(r, s, n);
    case REPLY_CHUNK_END:
        r->state = REPLY_CHUNK_SIZE;
        return n == 0 ? 0 : SQ_EPROTO;
    default: /* REPLY_TRAILER */
        if (n == 0)
            r->state = REPLY_DONE;
        return 0;
    }
}

static void keep(struct reply *r, const char *s, size_t n)
{
    size_t room = REPLY_LINE - r->line_len;
    size_t k = n < room ? n : room;

    memcpy(r->line + r->line_len, s, k);
    r->line_len = (uint8_t)(r->line_len + k);
}

/* Up to the end of a line, or all of it if that is not here. */
static int64_t feed_line(struct reply *r, const char *p, size_t n)
{
    const char *nl = memchr(p, '\n', n);
    size_t len = nl != NULL ? (size_t)(nl - p) : n, kept;
    int rc;

    r->head += (uint32_t)len + 1;
    if (r->head > REPLY_HEAD_MAX)
        return SQ_EPROTO;
    if (nl != NULL && r->line_len == 0) {
        rc = on_line(r, p, len);
        return rc < 0 ? rc : (int64_t)len + 1;
    }
    keep(r, p, len);
    if (nl == NULL)
        return (int64_t)len;
    kept = r->line_len;
    r->line_len = 0;
    rc = on_line(r, r->line, kept);
    return rc < 0 ? rc : (int64_t)len + 1;
}

static size_t skip(struct reply *r, size_t n)
{
    size_t k = (size_t)u64_min(r->left, n);

    r->left -= k;
    if (r->left == 0)
        r->state = r->state == REPLY_BODY ? REPLY_DONE : REPLY_CHUNK_END;
    return k;
}

int64_t reply_feed(struct reply *r, const char *p, size_t n)
{
    size_t at = 0;

    while (at < n && r->state != REPLY_DONE) {
        int64_t k = r->state == REPLY_BODY || r->state == REPLY_CHUNK
                        ? (int64_t)skip(r, n - at)
                        : feed_line(r, p + at, n - at);

        if (k < 0)
            return k;
        at += (size_t)k;
    }
    return (int64_t)at;
}
