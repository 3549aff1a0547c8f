/* http.h: HTTP/1.1 requests, strictly, in place; and the head of an answer. Pure: knows
 * no socket. RFC 9110, 9112; everything that 9112 calls ambiguous is an error after which
 * the connection must be closed.
 *
 * http_parse() looks at a whole buffer that the caller owns. It is incremental in the
 * sense that a partial request is parsed again when more bytes came; `st` remembers how
 * far the end of the head was searched, so slow senders cost O(n). Slices point into the
 * buffer. A chunked body is decoded in place. */
#ifndef SEGQ_HTTP_H
#define SEGQ_HTTP_H

#include <string.h>

#include "common/base/base.h"
#include "common/base/buf.h"
#include "common/base/text.h"

#define HTTP_MAX_LINE      8192  /* request line: 414 (target), 400 (method) */
#define HTTP_MAX_HEAD      16384 /* request line and headers: 431 */
#define HTTP_MAX_HEADERS   100   /* 431 */
#define HTTP_MAX_BODY      16384 /* 413; unless http_state.max_body says otherwise */
#define HTTP_MAX_CHUNKING  49152 /* chunk sizes and trailers, beside the body: 413 */
#define HTTP_MAX_NAME      256   /* a field's name: 431 */
#define HTTP_MAX_SIZE_LINE 256   /* a chunk's size and extensions: 400 */
#define HTTP_MAX_VIA       4     /* lines of one of the two fields that are kept */
#define HTTP_SLACK         32   /* readable bytes behind a buffer; what they are is nothing */
/* No request whose body may have `body` bytes takes more than this. */
#define HTTP_MAX_REQUEST(body) (HTTP_MAX_HEAD + HTTP_MAX_CHUNKING + (body))

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_PATCH,
    HTTP_OPTIONS,
    HTTP_OTHER
};

struct http_req {
    enum http_method method;
    int minor;       /* HTTP/1.minor: 0 or 1 */
    bool keep_alive; /* the client's wish */
    bool expect_continue;
    bool has_body;      /* Content-Length > 0 or chunked */
    bool in_pieces;     /* `body` is its begin: the rest comes by httpd_calls.on_piece */
    bool prefers;       /* a Prefer is there, or more */
    bool json;          /* Content-Type is application/json, absent, or curl's default */
    struct slice path;  /* raw, without query; absolute-form reduced to its path */
    struct slice query; /* raw, without '?' */
    struct slice body;
    uint64_t length; /* bytes of the whole body; in_pieces: as announced, 0: it is chunked */
    struct slice host, authorization, cookie, accept_language, if_none_match,
        user_agent, idempotency_key; /* p NULL: absent */
    unsigned cookies;    /* lines of Cookie; `cookie` is the first: common/http/request_headers.h */
    struct slice fields; /* all field lines, as they came: for http_find() */
    /* The last lines of X-Forwarded-For and of Forwarded, in their order: a proxy may
     * append a line of its own instead of a value. Here at the end: of these only n is cleared. */
    struct http_via {
        size_t n;
        struct slice line[HTTP_MAX_VIA]; /* n of them */
    } x_forwarded_for, forwarded;
};

struct http_state {     /* state of the request being read; zero all but max_body between requests */
    size_t max_body;    /* bytes; 0 = HTTP_MAX_BODY */
    size_t scanned;     /* the head ends in a field value, good up to here; 0 = unknown */
    size_t head_len;    /* 0 until the head is complete */
    size_t need;        /* bytes of head and body, once Content-Length has told them */
    size_t chunk_at;    /* where the next chunk's size line begins; 0 = not chunked */
    size_t chunk_sum;   /* bytes of body in the chunks before */
    bool want_continue; /* head is complete, no body yet, client waits for 100 */
};

/* > 0: bytes this request took, *r is filled; 0: more bytes needed (st->head_len tells
 * whether the head is there); < 0: -(HTTP status) to answer before closing: 400, 413,
 * 414, 417, 431, 501, 505. The result depends on the n bytes only, not on how they were
 * cut into calls; while the buffer grows it may move. 413: *r has the head, and with a higher
 * st->max_body the same bytes may be parsed again. HTTP_SLACK bytes behind them must be
 * readable, also for http_next(), http_find(). */
SQ_CHECK int64_t http_parse(struct http_state *st, struct http_req *r, char *buf,
                            size_t n);

/* A field that http_req has no member for: how many lines of that name there are; *v is
 * the last one's value. lower: its name in small letters. Walks over all lines: for
 * requests that are no hot path. */
unsigned http_find(const struct http_req *r, const char *lower, struct slice *v);

/* The next field in `rest`, which goes behind it; false: there is none. Begin with a copy of
 * http_req.fields. */
bool http_next_field(struct slice *rest, struct slice *name, struct slice *value);
/* The next of that name, likewise. */
bool http_next(struct slice *rest, const char *lower, struct slice *v);
/* The next member of a list with commas, without the blanks around it; false: there is none. */
bool http_item_next(struct slice *list, struct slice *item);
/* Connection names that field: it is of the connection, as Connection itself. */
bool http_connection_names(struct slice fields, struct slice name);

/* `lower` has letters, digits and '-' only: no other byte of p meets them by | 0x20. Inline, so
 * that a literal is compared by words. */
static inline bool http_ieq(const char *p, const char *lower, size_t n)
{
    uint64_t v, w;

    for (; n < 8 && n > 0; p++, lower++, n--)
        if ((*p | 0x20) != *lower)
            return false;
    for (size_t i = 0; i < n; i = i + 8 < n ? u64_min(i + 8, n - 8) : n) { /* the last overlaps */
        memcpy(&v, p + i, 8);
        memcpy(&w, lower + i, 8);
        if ((v | 0x2020202020202020) != w)
            return false;
    }
    return true;
}

/* Decodes %XX once in place; returns the new length, or -1 for a bad escape, an encoded
 * NUL, or an encoded slash. */
SQ_CHECK int64_t http_unescape(char *p, size_t n);

const char *http_reason(int status);

/* ---- problem details: the body of every error that a program of ours answers (RFC 9457) ---- */

#define PROBLEM_TYPE "application/problem+json"

/* {"title","status","code","detail","request_id" without its last brace: members may be
 * added (",\"x\":1"), then '}' is. */
void problem_open(struct buf *b, int status, const char *code, const char *detail,
                  const char *request_id);
/* Code of a request that http_parse() refused. */
const char *problem_code_of_http(int status);

#endif
