/* rpc_name.c: asks for a host's address without stopping the loop (libevent's evdns:
 * hosts file, then the name servers). Numeric addresses never come here. */
#include "common/net/rpc_name.h"

#include <assert.h>
#include <event2/dns.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rpc_name {
    name_fn fn; /* NULL: dropped, nobody wants to know any more */
    void *arg;
    bool asking; /* inside name_ask(): the answer must not come from there */
    bool answered;
    struct net_addr addr; /* the answer, while it waits to be posted */
    char why[80];
};

static void tell(void *arg)
{
    struct rpc_name *q = arg;

    assert(q->answered && !q->asking);
    if (q->fn != NULL)
        q->fn(q->arg, q->addr.len != 0 ? &q->addr : NULL, q->why);
    free(q);
}

static void on_answer(int rc, struct evutil_addrinfo *found, void *arg)
{
    struct rpc_name *q = arg;

    if (rc == 0 && found != NULL && found->ai_addrlen <= sizeof(q->addr.in6)) {
        memcpy(&q->addr.in6, found->ai_addr, found->ai_addrlen);
        q->addr.len = (socklen_t)found->ai_addrlen;
    } else {
        snprintf(q->why, sizeof(q->why), "name: %s", evutil_gai_strerror(rc));
    }
    if (found != NULL)
        evutil_freeaddrinfo(found);
    q->answered = true;
    if (!q->asking)
        tell(q);
}

static bool have_dns(struct rpc *r)
{
    struct event_base *base = ev_base(r->ev);

    if (r->dns == NULL && base != NULL)
        r->dns = evdns_base_new(base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
                                          EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    return r->dns != NULL;
}

struct rpc_name *name_ask(struct rpc *r, const char *addr, name_fn fn, void *arg)
{
    struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC,
                                     .ai_socktype = SOCK_STREAM,
                                     .ai_protocol = IPPROTO_TCP };
    struct rpc_name *q = calloc(1, sizeof(*q));
    char host[256], port_text[8];
    uint16_t port;

    if (q == NULL || net_split(addr, host, sizeof(host), &port, NULL) < 0 ||
        !have_dns(r)) {
        free(q);
        return NULL;
    }
    snprintf(port_text, sizeof(port_text), "%u", port);
    *q = (struct rpc_name){ .fn = fn, .arg = arg, .asking = true };
    evdns_getaddrinfo(r->dns, host, port_text, &hints, on_answer, q);
    q->asking = false;
    if (q->answered) /* from the hosts file, on the spot */
        ev_post(r->ev, tell, q);
    return q;
}

void name_drop(struct rpc_name *q)
{
    q->fn = NULL;
}

void name_fini(struct rpc *r)
{
    if (r->dns != NULL)
        evdns_base_free(r->dns, 0); /* open questions die unanswered with it */
    r->dns = NULL;
}
