/* out_call.h: the data of requests on their way; a request's life, its connection, its answer, its end. Shell. Only
 * files of this room include it.
 *
 *   out.c       life; targets; a request, from its target's name to one of the two clients
 *   plain.c     our own client: requests and answers over its connections
 *   libcurl.c   libcurl: sockets, timers, a request's options, its answer
 *   trust.c     where a target is: names asked, addresses checked; certificates
 *   out_call.c  a request's life; an answer, by either client; the end; connections of our own client
 * Each calls only those below it. */
#ifndef SEGQ_OUT_CALL_H
#define SEGQ_OUT_CALL_H

#include <curl/curl.h>

#include "common/base/list.h"
#include "common/http/http_answer.h"
#include "common/net/hosts.h"
#include "common/task/rules.h"
#include "common/task/sha256.h"
#include "common/task/url.h"
#include "task/out/out.h"
#include "task/out/trust.h"

#define OUT_AGE_MAX_MS 300000 /* age of a connection: then a name's new address is seen */

struct out {
    struct ev *ev;       /* ref */
    struct hosts hosts;
    struct list targets; /* list of struct out_target */
    struct list ending;  /* list of struct out_call: over, their callers are told at the end of the turn */
    bool posted;         /* `ending` is looked at in this turn */
    struct buf pass;     /* names of header fields, each with a 0 behind it */
    struct list spare;   /* list of struct out_call: for the next ones */
    /* libcurl's: */
    CURLM *multi; /* owned */
    uint64_t n_targets; /* ever */
    struct ev_timer *timer;
    struct ev_timer *late_timer; /* for calls that libcurl does not end */
    msec_t late_due;             /* the time it is set to */
    /* Our own client's: */
    struct ev_timer *due_timer;
    msec_t due;             /* the time it is set to */
    size_t n_conns, most_conns;
    size_t most_kept;       /* each client: connections without a call, of all targets */
    struct list kept;       /* conn.of_all, of all targets, the oldest in front */
    struct list crowded;    /* out_target.turn: targets whose calls wait for a connection */
    char *in;               /* owned: where answers are read */
};

struct out_target {
    struct list_node in;
    struct out *out; /* ref */
    struct out_rules rules;
    struct url url, proxy; /* proxy.host "": none */
    char address[NET_TEXT_MAX]; /* out_rules.address; "" */
    char told[TOLD_ROWS_MAX + 1]; /* out_rules.told; "" */
    bool plain;      /* our own client calls it */
    struct trust trust;
    struct host_question *question; /* NULL: none is open */
    struct host_answer known; /* addresses; n 0: none yet */
    msec_t asked_ms; /* when they were told */
    unsigned at;     /* the one that is used, of those that may be */
    struct list waiting; /* list of struct out_call: for an address */
    struct list calls;   /* list of struct out_call: with a client; the first that is due in front */
    struct list opening, kept; /* lists of struct conn: the oldest in front */
    struct list crowded;       /* out_call.more: there are enough connections */
    struct list_node turn;     /* out.crowded */
};

enum out_place {
    PLACE_NAME,   /* out_target.waiting */
    PLACE_CLIENT, /* out_target.calls */
    PLACE_ENDING, /* out.ending */
};

struct out_call {
    struct list_node in; /* list of its place */
    uint8_t place;       /* enum out_place */
    struct out_target *target; /* ref */
    out_fn fn;
    bool (*may)(void *arg);
    void (*long_one)(void *arg, const void *p, size_t n);
    void (*hear)(void *arg, const struct call_answer *a, const void *p, size_t n);
    char used_header[COST_HEADER_MAX + 1]; /* "": none */
    const struct out_reader *reader; /* ref; NULL: none */
    void *arg;
    struct out_file file; /* length > 0: the request's body */
    struct sha256 file_hash; /* hash of its first */
    uint64_t file_read;      /* bytes */
    bool file_bad;           /* unreadable, or all were read, and that is not its hash */
    struct buf body, got; /* got: the first bytes of the answer */
    struct buf fields;    /* header fields of the answer, as call_answer.fields */
    uint32_t keep;
    msec_t began, due;
    bool left;           /* first byte sent, or about to be */
    bool begun;          /* the reader has the head */
    bool paused;         /* the reader has no room */
    bool cut;            /* the answer went on behind OUT_BODY_MAX */
    struct sha256 hash;  /* once there is more than is kept */
    struct call_answer answer;
    /* For our own client: */
    struct buf head;
    bool to_head;
    struct net_addr addr;
    struct conn *conn;     /* NULL: none yet */
    struct list_node more; /* out_target.crowded */
    struct libcurl_call { /* handle of libcurl */
        CURL *easy; /* owned; NULL: it is not the client */
        struct curl_slist *fields, *connect_to; /* owned */
        struct buf head; /* bytes of the answer, as it comes */
        struct http_answer answer;
        uint64_t sent; /* bytes of the file */
        bool unread;   /* which cannot be read */
        bool opened; /* a connection, for this call */
        bool refused, unwanted, no_room; /* no_room: no descriptor is left */
        enum call_fault wrong; /* the head of the answer is none */
        char error[CURL_ERROR_SIZE];
    } curl;
};

/* An empty one, in no list. NULL: no memory. */
struct out_call *out_call_new(struct out *o);
void out_call_free(struct out *o, struct out_call *c);
void out_call_enter(struct out_call *c, enum out_place place);
void out_call_leave(struct out_call *c);
/* Ends it; it is in no list, and no client has it. Its caller is told at the end of the turn.
 * why: of a fault. */
void out_call_ends(struct out_call *c, enum call_fault fault, const char *why);
/* Bytes of its body. */
static inline uint64_t out_call_body(const struct out_call *c)
{
    return c->file.length > 0 ? c->file.length : c->body.len;
}
/* Up to n bytes from `at` on of its file: how many; -1: it cannot be read, or is not what it was. */
ssize_t out_call_read(struct out_call *c, uint64_t at, void *p, size_t n);
/* Such a request says how long its body is, also that it is empty (RFC 9110 8.6). */
bool out_call_has_body(const struct out_call *c, const char *method);
/* Spare ones go. */
void out_call_free_spare(struct out *o);

/* ---- an answer, whoever the client is ---------------------------------------------- */

/* Reads a whole head: what it says to us. */
void answer_head(struct out_call *c, const struct http_answer *a);
/* More of it follows than came with its head: its reader hears of it, before the next bytes are told. */
void answer_goes_on(struct out_call *c);
/* The next bytes of its body. False: no more is wanted: c->cut, or no memory. */
bool answer_body(struct out_call *c, const void *p, size_t n);
/* Bytes of it that may be read now, of n or more that are here. */
uint32_t answer_room(const struct out_call *c, size_t n);
/* Ends it; to its caller. */
void answer_ends(struct out_call *c);

/* Connections of our own client to a target: opened, kept for the next request, closed.
 * Shell. For the files of this room. */

#define CONN_KEPT_MS 60000 /* time that one is kept without a request */

enum conn_state {
    CONN_OPENING, /* in target.opening since `since` */
    CONN_BUSY,    /* has `call`'s request */
    CONN_KEPT,    /* in target.kept since `since` */
};

struct conn {
    struct list_node in;     /* list of its state */
    struct list_node of_all; /* out.kept */
    uint8_t state;       /* enum conn_state */
    struct out_target *target; /* ref */
    struct ev_io io;     /* watches its descriptor */
    struct net_addr addr;
    msec_t born, since;
    bool used;           /* for an answer, before */
    struct out_call *call; /* ref; NULL: KEPT */
    size_t sent;         /* bytes of the request */
    bool deaf;           /* the target takes no more of it */
    struct http_answer answer;
    struct buf rest;     /* bytes that came, and are not read yet */
};

/* Finds a kept connection to that address that is well as far as can be seen. NULL: there is none. */
struct conn *conn_kept(struct out_target *t, const struct net_addr *a);
/* A new one: OPENING, watched by fn (its arg: the connection). 0; SQ_EINVAL: the address may not be
 * reached; SQ_EFULL: there are no descriptors or memory; SQ_ESYS: it cannot be reached, *e says why. */
SQ_CHECK int conn_open(struct conn **out, struct out_target *t, const struct net_addr *a,
                       ev_io_fn fn, struct err *e);
/* The connection is made: BUSY. */
void conn_opened(struct conn *cn);
/* Keeps it after its answer; or closes it, if it is too old or there are enough. */
void conn_keep(struct conn *cn);
void conn_close(struct conn *cn);
/* The one that has been kept longest, of all targets, is closed. False: there was none. */
bool conn_close_one(struct out *o);

#endif
