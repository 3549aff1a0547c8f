/* conns.h: a pool of HTTP connections that all players share; one request at a time on
 * each. Shell over ev.h.
 *
 * Requests wait in order for a free connection. Connections take turns, and are spread
 * over the hosts; one that cannot connect tries the next host next time. `keep` false: a
 * new connection per request. */
#ifndef SEGQ_SWARM_CONNS_H
#define SEGQ_SWARM_CONNS_H

#include "common/base/buf.h"
#include "common/net/ev.h"
#include "common/net/net.h"
#include "tests/bench/swarm/answer.h"

struct conns;

struct conns_calls {
    /* Writes the request. Called when its connection is there, just before it is sent. */
    void (*build)(void *ctx, uint32_t who, const char *host, struct buf *out);
    void (*on_answer)(void *ctx, uint32_t who, const struct answer *a);
    /* It may or may not have reached the other side. */
    void (*on_fail)(void *ctx, uint32_t who, const char *why);
};

struct conns_opts {
    const struct net_addr *addr; /* copied; n of them */
    const char *const *host;     /* "host:port" of each; copied */
    unsigned n_hosts;
    uint32_t conns;
    bool keep;
    int64_t timeout_us;
    double reconnect_share; /* of answers after which the client hangs up */
    uint64_t seed;
};

struct conns_counts {
    uint64_t opened, refused, broken, timeouts, reused_closed;
};

SQ_CHECK int conns_new(struct conns **out, struct ev *ev, const struct conns_opts *o,
                       const struct conns_calls *calls, void *ctx, struct err *e);
void conns_free(struct conns *c);
/* Queues a request; the callbacks come later, never from inside. False: no memory. */
bool conns_submit(struct conns *c, uint32_t who);
size_t conns_waiting(const struct conns *c); /* requests without a connection yet */
const struct conns_counts *conns_counts(const struct conns *c);

#endif
