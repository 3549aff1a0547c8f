/* client_gate.h: the client's address of a request, and the room in that address's limits. Shell
 * around limit.c: knows the configuration, the connections and the clock.
 *
 * The client may be one that a trusted proxy says it asks for (common/http/request_headers.h).
 *
 * A connection's tag is the limit_id of its other end; the lowest bit says that a trusted
 * proxy is there, so that each request has to be looked at. The limits hold for each
 * router by itself: n routers let n times as much through. */
#ifndef SEGQ_GATE_H
#define SEGQ_GATE_H

#include "common/http/request_headers.h"
#include "common/net/net.h"
#include "router/gate/limit.h"
#include "router/state/cfg.h"

#define GATE_MAX_PROXIES CFG_NETS_MAX

struct gate {
    struct limit *limit; /* owned */
    struct ticket_polls *tickets; /* owned */
    uint32_t ticket_times;        /* 0: tickets are not limited */
    bool hears; /* polls are looked at: they are limited, or suspects are looked for; it stays */
    uint64_t ticket_refused;
    struct ip_net proxies[GATE_MAX_PROXIES];
    size_t n_proxies;
    enum forwarded_form form;
    uint32_t conns_per_addr;
    limit_id client; /* key of the request being handled; 0: not to be limited */
    int64_t said_ms; /* when a refused connection was last worth a line */
    uint64_t forwarded_bad;  /* malformed headers of trusted proxies */
    uint64_t forwarded_none; /* their requests without one, or with proxies only */
};

SQ_CHECK int gate_init(struct gate *g, const struct router_cfg *c, struct err *e);
void gate_fini(struct gate *g);
void gate_reload(struct gate *g, const struct router_cfg *c); /* members that may change */

/* A connection: false: it must be closed. */
SQ_CHECK bool gate_conn(struct gate *g, const struct net_addr *peer, int64_t now_ms,
                        uint64_t *tag);
void gate_conn_end(struct gate *g, uint64_t tag);

/* Somebody listens, on a connection that lasts: false: that client has too many. client: of
 * gate_listener(); 0: its own connection is counted, and no other. */
limit_id gate_listener(const struct gate *g, uint64_t tag); /* client of the request at hand */
SQ_CHECK bool gate_listen(struct gate *g, limit_id client);
void gate_listen_end(struct gate *g, limit_id client);

/* A request begins (q NULL: it could not be read): sets g->client. */
void gate_request(struct gate *g, uint64_t tag, const struct http_req *q);
/* Is the other end a trusted proxy? */
bool gate_is_trusted(uint64_t tag);
/* The client for which a proxy asks. False: it names none, or malformed. */
bool gate_client(const struct gate *g, const struct http_req *q, struct ip *out);
/* Did the browser come by https? Here, or as a trusted proxy or the configuration (page_https) says:
 * cookies are for https only, then. */
bool gate_is_secure(const struct router_cfg *c, bool sealed, uint64_t tag, const struct http_req *q);
/* 0: go on; else 429: the ms after which it may come again. */
static inline SQ_CHECK uint32_t gate_take(struct gate *g, enum limit_kind k,
                                          int64_t now_us)
{
    return g->client == 0 ? 0 : limit_take(g->limit, g->client, k, now_us);
}
static inline SQ_CHECK uint32_t gate_take_more(struct gate *g, enum limit_kind k, unsigned n,
                                               int64_t now_us)
{
    return g->client == 0 || n == 0 ? 0 : limit_take_more(g->limit, g->client, k, n, now_us);
}

#endif
