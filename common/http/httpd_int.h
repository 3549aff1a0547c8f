/* httpd_int.h: the data of the HTTP server. Only httpd*.c include it; each calls only those
 * below it: httpd.c, httpd_conn.c, httpd_in.c, httpd_out.c, httpd_busy.c, httpd_compose.c.
 *
 * An idle connection is one struct conn. Everything else hangs on its struct busy, which
 * comes from a pool with the first byte and goes back with the last answer, so memory
 * follows what happens and not how many are connected.
 *
 * Life of a connection in a turn: events read and parse (conn_on_event), requests are
 * answered now or later (httpd_answer); both only mark it dirty. At the turn's end
 * conn_settle() writes once, decides what it waits for, which deadline it has, and
 * whether it ends; only then is a connection freed.
 *
 * A request is at hand if it is all that came, and nothing else is under way: an answer during its
 * call is written at once, and the connection has never been busy. Also an answer that comes later
 * is written at once, and the connection is idle again, if nothing else is under way by then. */
#ifndef SEGQ_HTTPD_INT_H
#define SEGQ_HTTPD_INT_H

#include "common/base/list.h"
#include "common/base/log.h"
#include "common/http/http_answer.h"
#include "common/http/httpd.h"
#include "common/net/tls_server.h"

#define HTTPD_SCRATCH         65536 /* most bytes of a read */
#define HTTPD_IN_START        4096
#define HTTPD_PIECE_ROOM      32768 /* bytes of a read behind a rest, of a body in pieces */
#define HTTPD_OUT_BLOCK       1024 /* an answer to a waiting ticket takes 400 */
#define HTTPD_HAND_ROOM       4096 /* a longer answer goes by the connection's own output */
#define HTTPD_OUT_EXACT       65536 /* from here on output grows by what is needed */
#define HTTPD_OUT_AHEAD       65536 /* while so much is unsent, no request is taken */
#define HTTPD_POOL_MAX        512 /* unused blocks kept of each kind */
#define HTTPD_TURN_REQUESTS   64  /* requests of a connection in a turn */
#define HTTPD_TURN_ACCEPTS    64
#define HTTPD_SLOWEST         1024 /* bytes/s, over body_ms: a client that takes less is dropped */
#define HTTPD_LINGER_MS       2000
#define HTTPD_LINGER_BYTES    (256 * 1024)
#define HTTPD_RETRY_ACCEPT_MS 100
#define HTTPD_SAID_MS         1000 /* between two lines of the log that strangers can cause */
#define HTTPD_HANDSHAKES      4096
#define HTTPD_HANDSHAKE_US    2000 /* a turn spends at most so long on them, and one more step */
#define HTTPD_HANDSHAKE_MS    2000 /* age at which one gives way, if there are too many */

/* The wait of a connection = the deadline list it is in. Every list has one
 * duration, so it is ordered by itself and its first one is due first. */
enum conn_wait {
    WAIT_IDLE,   /* next request */
    WAIT_HEAD,   /* rest of the head; also a new connection */
    WAIT_BODY,   /* rest of the body */
    WAIT_WRITE,  /* the client must read */
    WAIT_LINGER, /* we are done; the client may still be sending */
    WAIT_NLISTS,
    WAIT_US = WAIT_NLISTS /* our own answer: no deadline here */
};

/* Why it ended; counted. */
enum conn_end {
    END_NOT,
    END_DONE,
    END_IDLE,
    END_HEAD,
    END_BODY,
    END_SLOW_READER,
    END_PEER,
    END_ERROR,
    END_NREASONS
};

struct httpd_req {
    struct httpd_req *next; /* order of arrival */
    struct conn *conn;      /* ref */
    void *user;
    const char *lines; /* lines of the answer, the user's; NULL: none */
    char *ans; /* owned: answered before its turn came */
    union {
        struct {
            uint32_t ans_len, ans_cap;
        };
        uint64_t left; /* sized: bytes of its answer that have not come */
    };
    bool answered : 1, head : 1, keep_alive : 1, http10 : 1;
    bool at_hand : 1; /* not queued */
    bool open : 1;    /* an answer in pieces: the head is out, and nothing follows it */
    bool passing : 1; /* open: and what follows on the connection is taken behind it */
    bool sized : 1;   /* open: its length is known */
    bool hungry : 1;  /* sized, passing: a piece came, and its user is told when the client has taken it */
    bool own : 1;     /* an error answer of httpd itself */
    bool marked : 1;  /* by the user */
};

struct pieces { /* a body that is read in pieces */
    struct httpd_req *req; /* ref; NULL: its begin is not here yet */
    struct http_answer body; /* where in it the next byte is: chunks of requests are those of answers */
    uint64_t most, came; /* bytes of the body: that it may have, that were told */
    msec_t since_ms; /* moment since which */
    size_t fresh;    /* bytes that have come since then */
    bool wanted;   /* the next piece may come */
};

struct busy {
    struct http_state st;
    union {
        struct pieces *pieces; /* owned; NULL: nothing is read so */
        struct busy *next_free; /* list of those in no connection */
    };
    char *in; /* owned: bytes that could not be parsed yet */
    size_t in_len, in_cap;
    char *out; /* owned; out_at..out_len is to be written */
    size_t out_at, out_len, out_cap;
    struct httpd_req *first, *last; /* owned: requests not yet answered, in order */
    uint32_t lingered; /* bytes thrown away */
    uint32_t large;    /* bytes that `in` has of the share of large bodies */
    uint32_t unacked;  /* WAIT_WRITE: what the client's end had to take when its deadline was set */
    uint16_t n_reqs;   /* up to max_pipelined */
    bool stalled : 1;  /* `in` may hold a whole request: stopped at a limit */
    bool fresh : 1;    /* a request was taken since the last settle: deadlines begin anew */
    bool continued : 1; /* 100 was sent for the request being read */
    bool unread : 1;   /* input was thrown away: close gently */
    bool progress : 1; /* the client took some output since the last settle */
};

_Static_assert(sizeof(struct busy) <= 152, "each listener has one: 16 bytes more here are 16 more of each");

struct conn {
    struct ev_io io;
    struct httpd *h;   /* ref */
    struct busy *busy; /* owned; NULL while nothing is under way */
    struct list_node in_wait;
    struct conn *next_dirty;
    msec_t deadline;
    uint64_t tag;     /* the user's */
    uint8_t wait;     /* enum conn_wait */
    uint8_t end;      /* enum conn_end: set = will be closed at the end of the turn */
    bool no_more; /* requests are taken from it */
    bool used;    /* had a request */
    bool dirty, eof, lingering;
    bool sealed; /* a part of struct tls_conn */
};

/* The request that has begun, and whose body is not all here; NULL: none. */
static inline struct pieces *conn_pieces(const struct conn *c)
{
    struct pieces *s = c->busy != NULL ? c->busy->pieces : NULL;

    return s != NULL && s->req != NULL ? s : NULL;
}

struct tls_conn {
    struct conn conn; /* first */
    struct tls_sock sock;
    struct list_node in_handshake; /* httpd.handshakes, until it is over */
    msec_t began;
};

static inline struct tls_sock *conn_sock(struct conn *c) /* c is sealed */
{
    return &((struct tls_conn *)c)->sock;
}

/* Bytes of a sealed one are here already, and it is read at present. */
static inline bool conn_has_more(struct conn *c)
{
    return (c->io.what & EV_IO_READ) != 0 && !c->lingering && conn_sock(c)->more;
}

struct body_head { /* head of answers of one status and type, in the second date_s */
    const char *type; /* ref, and compared as such */
    int64_t date_s;
    size_t len, size_at; /* size_at: of the body's length */
    char text[488];
};

struct httpd {
    struct ev *ev; /* ref */
    struct httpd_calls calls;
    void *ctx;
    struct httpd_opts opts;
    struct httpd_counts counts;
    int listen_fd;
    struct ev_io *listener;
    struct ev_timer *timer;
    msec_t timer_at;
    struct list wait[WAIT_NLISTS];
    struct list waiting_us; /* connections in WAIT_US */
    msec_t wait_ms[WAIT_NLISTS];
    struct list handshakes; /* struct tls_conn, the longest under way first */
    int64_t handshake_turn_us, handshake_us; /* the turn, and time that it spent on them */
    struct log_limit tls_log[2]; /* handshakes that failed: plain HTTP; others */
    struct conn *dirty;
    struct conn **again; /* stalled connections to go on with next turn */
    size_t n_again, cap_again;
    struct busy *free_busy;
    struct httpd_req *free_req;
    struct httpd_req *hand; /* owned; NULL: none was at hand yet, or it was kept */
    char *hand_out;         /* HTTPD_HAND_ROOM bytes: what leaves at once */
    char *free_out[HTTPD_POOL_MAX];
    size_t n_free_busy, n_free_req, n_free_out;
    char *scratch;
    bool paused, accept_full, accept_warned, draining, again_posted;
    msec_t accept_retry, accept_quiet_ms; /* quiet: no line about it before */
    ev_fn drained;
    void *drained_arg;
    int64_t date_s;
    char common_head[256]; /* status line 200, date, and what else never changes */
    size_t common_len;
    struct body_head body_head[2]; /* 200, 201 */
    struct { /* the answer that httpd_body() has begun */
        char *out, *size, *body;
    } in_place;
    char server[64];
    char addr[64];
};

#endif
