/* httpd.h: the HTTP server around http.c (public port, admin port): raw events, keep-alive,
 * pipelining, limits, deadlines. Shell. Answers may come later and in any order; they leave in the
 * order of the requests. Where a connection has no other request under way, the answer leaves at
 * once; else all of a turn's answers for it in one write.
 *
 * Answers may also stay open, and be sent in pieces (httpd_open()).
 *
 * Limits: total deadlines for the head and the body (not per read), idle time-out, a cap
 * on connections (accepting pauses, no busy loop) and on unsent output (slow readers are
 * dropped alone), pipelined requests in flight per connection, a budget of requests per
 * connection and turn. Every closed connection has a reason (counted; logged at debug).
 *
 * With certificates (tls_server.h) the port speaks TLS alone. A handshake has the time of a head;
 * they are bounded in number, and in time of a turn.
 */
#ifndef SEGQ_HTTPD_H
#define SEGQ_HTTPD_H

#include "common/base/err.h"
#include "common/net/ev.h"
#include "common/http/http.h"

struct ip;
struct net_addr;
struct buf;
struct httpd;
struct tls_server;
struct httpd_req; /* a request being answered; owned by the server */

struct httpd_opts {
    const char *addr;   /* "0.0.0.0:8080"; port 0 picks one */
    bool port_alone;    /* no SO_REUSEPORT: a port that somebody has is an error */
    uint32_t max_conns; /* 0 = 65536 (and what the descriptor limit allows) */
    uint32_t head_ms, body_ms, idle_ms; /* 0 = 10 s, 10 s, 75 s */
    uint32_t max_pipelined;             /* 0 = 64 */
    size_t max_body;                    /* bytes of a request; 0 = HTTP_MAX_BODY */
    size_t max_large; /* bytes of a request that on_large lets through whole; 0: none are */
    size_t max_input_bytes;  /* bytes that wait to be parsed, of all connections; 0 = 256 MiB */
    size_t max_output_bytes; /* bytes that a client leaves unread; 0 = 256 KiB */
    const char *server;                 /* Server header; NULL = none */
    struct tls_server *tls; /* ref: with certificates in it, the port speaks TLS alone; NULL: never */
    uint32_t max_handshakes; /* under way; 0 = 4096 */
};

/* Exactly one httpd_answer(), or httpd_open(), must follow for each on_request, at once or later.
 * `q` and its slices are valid during the call only. on_gone: the connection died before the
 * answer; `req` must not be used any more. user is the pointer set by httpd_set_user.
 * on_bad: what came is not a request that we take (400, 408, 413, 414, 417, 431, 501, 503,
 * 505); it must be answered during the call, the connection ends then. q: of 413 and 503 the
 * head, else NULL. on_bad NULL: an answer without a body.
 * on_large: a head is there whose body is above max_body, and most of the body is not. It returns how
 * many bytes that may have; above it, 413, and the body is not read. *in_pieces: one of more than
 * HTTPD_WHOLE bytes comes in pieces; else it is whole, of max_large bytes at most. It must change
 * nothing of q, whose path may be read again. Bodies that are whole have a share of max_input_bytes
 * (HTTPD_LARGE_SHARE): above it, 503.
 *
 * In pieces: on_request has the begin of the body (http_req.in_pieces): HTTPD_BEGIN bytes or more of it, if
 * it is not chunked. httpd_more() lets the next piece come, once each; it may be called within on_piece. n: up
 * to HTTPD_PIECE; 0 only with the last one. The request may be answered at any time: no piece follows,
 * and its connection ends unless it had the last one. Who sends less than 1 KiB/s over body_ms has
 * gone; and a body that turns out to be longer than on_large said is told as on_piece with p NULL,
 * behind which no piece comes (n: 413, or 400 for a malformed one). */
struct httpd_calls {
    void (*on_request)(void *ctx, struct httpd_req *req, const struct http_req *q);
    void (*on_gone)(void *ctx, struct httpd_req *req, void *user);
    void (*on_bad)(void *ctx, struct httpd_req *req, int status, const struct http_req *q);
    /* Both or neither. on_conn: somebody connected; false: closed at once. What it puts
     * into *tag stays with the connection; on_conn_end: that connection is gone. */
    bool (*on_conn)(void *ctx, const struct net_addr *peer, uint64_t *tag);
    void (*on_conn_end)(void *ctx, uint64_t tag);
    uint64_t (*on_large)(void *ctx, const struct http_req *q, bool *in_pieces); /* with max_large */
    /* After httpd_open_sized(): the client has taken all pieces that came. During the call nothing may
     * be answered or sent: it posts (ev.h). NULL: nobody opens such answers. */
    void (*on_taken)(void *ctx, struct httpd_req *req, void *user);
    /* The next piece of a body; NULL: none is taken in pieces. */
    void (*on_piece)(void *ctx, struct httpd_req *req, void *user, const char *p, size_t n, bool last);
};
#define HTTPD_WHOLE (256u << 10)
#define HTTPD_BEGIN (64u << 10)
#define HTTPD_PIECE (160u << 10)
#define HTTPD_LARGE_SHARE 4 /* a quarter; a buffer takes twice what is announced at most */

SQ_CHECK int httpd_new(struct httpd **out, struct ev *ev, const struct httpd_opts *o,
                       const struct httpd_calls *calls, void *ctx, struct err *e);
void httpd_free(struct httpd *h);
const char *httpd_addr(const struct httpd *h);
uint32_t httpd_max_conns(const struct httpd *h); /* bounded by descriptors */
/* TERM: stop accepting, answer what is in flight with "Connection: close", then `done`
 * (posted; bounded by the deadlines and by how long answers take). */
void httpd_drain(struct httpd *h, ev_fn done, void *arg);

void httpd_more(struct httpd_req *req); /* the next piece of its body may come */
void httpd_set_user(struct httpd_req *req, void *user);
/* More lines of its answer, each with CRLF; borrowed until it is answered. */
void httpd_set_lines(struct httpd_req *req, const char *lines);
/* The user's own mark; a request begins without. */
void httpd_set_mark(struct httpd_req *req);
bool httpd_is_marked(const struct httpd_req *req);
bool httpd_is_sealed(const struct httpd_req *req); /* True: came by TLS. */
/* The client has closed its side: mostly it has gone; one that only says no more reads answers. */
bool httpd_is_closing(const struct httpd_req *req);
uint64_t httpd_tag(const struct httpd_req *req); /* tag of its connection; 0 without on_conn */
SQ_CHECK bool httpd_peer(const struct httpd_req *req, struct ip *out); /* a system call; false: none */

/* The hot answer: composed without printf into the connection's output. headers: extra
 * header lines, each ending in CRLF ("" for none). Date, Content-Length, Cache-Control:
 * no-store (unless headers bring one), X-Content-Type-Options and Connection are added.
 * HEAD requests get no body. The body is copied. */
void httpd_answer(struct httpd_req *req, int status, const char *content_type,
                  const char *headers, const char *body, size_t body_len);

/* The same bytes as of httpd_answer(req, status, type, headers, ...), but the caller writes the
 * body, of 100 to HTTPD_BODY_MAX bytes, to where it leaves from; what it writes to the
 * HTTPD_BODY_TOUCH bytes behind is nothing. NULL: httpd_answer() has to do it. status: 200 or 201.
 * type: a literal. headers: n bytes, without Cache-Control. end: behind the body's last byte. No
 * other answer may come between the two. */
char *httpd_body(struct httpd_req *req, int status, const char *type, const char *headers,
                 size_t n);
void httpd_body_end(struct httpd_req *req, const char *end);
#define HTTPD_BODY_MAX   600
#define HTTPD_BODY_TOUCH 64

/* An answer that stays open (200): its body comes in pieces, as long as it lasts; its connection
 * takes no further request, and ends with it. Bytes that the client has not taken are kept, so
 * send nothing while httpd_is_behind(). on_gone says that the client has gone, as ever. */
bool httpd_may_open(struct httpd_req *req); /* ask before; false: answer it otherwise */
void httpd_open(struct httpd_req *req, const char *content_type, const char *headers);
bool httpd_is_open(const struct httpd_req *req);
bool httpd_is_behind(const struct httpd_req *req);
void httpd_send(struct httpd_req *req, const char *piece, size_t n); /* 1 .. 65535 bytes */
void httpd_end(struct httpd_req *req); /* the last piece was sent; req is the server's again */

/* The same of an answer whose length is known: pieces of any size, `length` bytes together, with
 * Content-Length. on_taken says when the next piece is wanted. A client that takes less than
 * 1 KiB/s over body_ms is dropped. Not for HEAD, nor with requests behind it. */
bool httpd_may_open_sized(struct httpd_req *req); /* ask before; false: answer it otherwise */
void httpd_open_sized(struct httpd_req *req, int status, const char *content_type,
                      const char *headers, uint64_t length);
bool httpd_is_sized(const struct httpd_req *req);
/* The rest cannot be had: its connection ends, so that the client sees it. on_gone follows. */
void httpd_abort(struct httpd_req *req);

/* An answer that is passed on as it comes from elsewhere: in pieces of 1 .. 65535 bytes, with its length
 * (sized) or in chunks; on_taken as above. The connection goes on behind it: requests that come amid
 * it wait. A client that closes its side, be it one way, has gone. For HTTP/1.1, not for HEAD; from
 * its turn on, that is, when the answers before it are out. */
#define HTTPD_UNSIZED UINT64_MAX
bool httpd_may_pass(struct httpd_req *req); /* ask before; true stays true */
void httpd_open_passing(struct httpd_req *req, int status, const char *content_type,
                        const char *headers, uint64_t length);
bool httpd_is_passing(const struct httpd_req *req);

struct httpd_counts {
    uint64_t conns_now, in_now, out_now; /* out_now: bytes of answers, small blocks apart */
    uint64_t large_now; /* bytes announced of requests above max_body */
    uint64_t accepted, refused, requests, answers, bad_requests, aborted;
    uint64_t closed_idle, closed_head_deadline, closed_body_deadline, closed_slow_reader,
        closed_peer, closed_error, accept_paused;
    uint64_t tls_now, tls_done, tls_resumed, tls_failed, tls_plain; /* handshakes; tls_plain: HTTP in
                                                                       its place */
    uint64_t status_2xx, status_3xx, status_4xx, status_5xx;
    uint64_t bytes_in, bytes_out, reads, writes;
};
const struct httpd_counts *httpd_counts(const struct httpd *h);
/* Handshakes, and the time when the first certificate lapses. prefix: "segq_admin_". */
void httpd_tls_metrics(struct buf *b, const char *prefix, const struct httpd_counts *n, int64_t lapses_s);

#endif
