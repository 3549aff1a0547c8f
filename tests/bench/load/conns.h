/* conns.h: many connections to one server, one request at a time on each, over raw epoll.
 *
 * Nothing calls back: conns_wait() returns the requests that ended, in a batch, and the
 * caller asks again. A connection that is not there (never opened, closed by the server,
 * or `close`) is opened by the next request on it. Times are now_us(). */
#ifndef SEGQ_LOAD_CONNS_H
#define SEGQ_LOAD_CONNS_H

#include "common/base/err.h"
#include "common/net/net.h"
#include "tests/bench/load/tally.h"

#define CONNS_BATCH 256

struct conns;

struct conns_opts {
    struct net_addr addr;
    uint32_t n;
    bool close;         /* hang up after each answer */
    int64_t timeout_us; /* from the sending */
};

struct conns_end {      /* of a request */
    uint32_t conn;
    uint16_t status;    /* if it was answered */
    enum ending how;
    int64_t from_us;    /* as given to conns_ask() */
    int64_t done_us;
};

/* Unless `close`, all are connected when it returns; SQ_ECLOSED if that cannot be had. */
SQ_CHECK int conns_new(struct conns **out, const struct conns_opts *o, struct err *e);
void conns_free(struct conns *c);
/* Sends a request on connection i, which has none. Latency is to count from from_us. The
 * text is not needed afterwards. SQ_ECLOSED: it could not connect, the request is over. */
SQ_CHECK int conns_ask(struct conns *c, uint32_t i, const char *text, size_t n,
                       int64_t from_us, int64_t now_us);
/* Waits (for -1: for ever) until something happens; how many requests ended. */
size_t conns_wait(struct conns *c, int64_t wait_us, struct conns_end end[CONNS_BATCH]);
/* Ends requests whose answers are overdue; call again while there are any. */
size_t conns_overdue(struct conns *c, int64_t now_us, struct conns_end end[CONNS_BATCH]);
/* The connections that have a request whose answer is not here, from `from` on: the
 * number of the next one and when it counts from, or -1. */
int64_t conns_next_asked(const struct conns *c, uint32_t from, int64_t *from_us);

/* Also waits for a pipe's end; SQ_EINVAL: fd is nothing that can be waited for. */
SQ_CHECK int conns_watch(struct conns *c, int fd);
bool conns_watched_closed(const struct conns *c);

#endif
