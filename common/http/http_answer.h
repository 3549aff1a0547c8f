/* http_answer.h: HTTP/1.1 answers, strictly; for a client. Pure: knows no socket. RFC 9112.
 *
 * What two clients could read in two ways is an error, after which the connection must be closed:
 * lengths that differ, a length beside a coding, any coding but chunked, folded lines, a bare LF, a
 * chunk's size that is none. Equal lengths count as one (RFC 9110 8.6). Answers 1xx are passed over,
 * but 101: nobody asks for another protocol.
 *
 * The head is looked at in a buffer that the caller owns, line by line as they come; the body's
 * bytes are told in the pieces in which they come. HTTP_SLACK bytes behind a buffer must be
 * readable; what comes of it depends on the bytes alone, not on how they were cut into calls. */
#ifndef SEGQ_HTTP_ANSWER_H
#define SEGQ_HTTP_ANSWER_H

#include "common/http/http_scan.h"

#define HTTP_MAX_ANSWER_HEAD 65536 /* bytes, with those of the 1xx before it; trailers as many */

enum http_answer_part { /* the next part */
    HTTP_ANSWER_HEAD,
    HTTP_ANSWER_SIZED,   /* `left` bytes of body */
    HTTP_ANSWER_CHUNK,   /* a chunk's size */
    HTTP_ANSWER_CHUNKED, /* `left` bytes of a chunk */
    HTTP_ANSWER_CHUNK_END,
    HTTP_ANSWER_TRAILERS,
    HTTP_ANSWER_ALL,     /* body, until the connection ends */
    HTTP_ANSWER_DONE,
};

struct http_answer { /* zero it before each one */
    bool to_head;   /* set by the caller: the answer to HEAD has no body */
    unsigned status;
    int minor;       /* HTTP/1.minor: 0 or 1 */
    bool keep_alive; /* the connection is good for another request when this one is done */
    struct slice fields; /* the lines, in the buffer: for http_next_field() */
    const char *wrong;   /* after an error: what */
    uint8_t part; /* enum http_answer_part */
    uint64_t left;
    size_t at;    /* offset of the first line of the head that is not read; */
    size_t first; /* offset of its first field line */
    unsigned lines;
    struct http_framing framing;
};

/* 0: more bytes are needed; > 0: bytes of the head, which is read, and the body comes next; -431:
 * it is too long; -400: it is none, a->wrong says why. */
SQ_CHECK int64_t http_answer_head(struct http_answer *a, char *buf, size_t n);
/* The next bytes of its body: how many of n were read (those left come again, with more behind
 * them), and of them *data is body; or -400. Call it as long as it reads any: a->part says DONE. */
SQ_CHECK int64_t http_answer_body(struct http_answer *a, char *buf, size_t n, struct slice *data);

#endif
