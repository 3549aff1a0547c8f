/* conn.h: connections of our own client to a target: opened, kept for the next request, closed.
 * Shell. For the files of this room. */
#ifndef SEGQ_OUT_CONN_H
#define SEGQ_OUT_CONN_H

#include "task/out/out_call.h"

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
