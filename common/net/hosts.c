/* hosts.c: one question is one evdns_getaddrinfo(). */
#include "common/net/hosts.h"

#include <assert.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/ev.h"

#define LAST_TURNS 8 /* one is enough for libevent 2.1 */

struct host_question {
    struct list_node in; /* of hosts.open, until it is answered */
    struct list *open;
    struct evdns_getaddrinfo_request *asked;
    host_fn fn; /* NULL: dropped, nobody wants to know any more */
    void *arg;
    bool asking; /* inside hosts_ask(): the answer must not come from there */
    bool answered;
    struct host_answer answer; /* while it waits to be posted */
};

void hosts_init(struct hosts *s, struct ev *ev)
{
    *s = (struct hosts){ .ev = ev };
    list_init(&s->open);
}

/* evdns gives a question back, and frees its own part of it, in a turn of its loop alone. */
static void give_up(struct hosts *s)
{
    list_each_of (&s->open, struct host_question, in, q) {
        q->fn = NULL;
        evdns_getaddrinfo_cancel(q->asked);
    }
    for (unsigned i = 0; i < LAST_TURNS && s->open.n > 0; i++)
        if (event_base_loop(ev_base(s->ev), EVLOOP_ONCE | EVLOOP_NONBLOCK) < 0)
            break;
}

void hosts_fini(struct hosts *s)
{
    give_up(s);
    if (s->dns != NULL)
        evdns_base_free(s->dns, 0);
    s->dns = NULL;
}

static void tell(void *arg)
{
    struct host_question *q = arg;

    assert(q->answered && !q->asking);
    if (q->fn != NULL)
        q->fn(q->arg, &q->answer);
    free(q);
}

static void add(struct host_answer *a, const struct evutil_addrinfo *found)
{
    struct net_addr *to = &a->addr[a->n];

    if (a->n == HOST_ADDRS || found->ai_addrlen > sizeof(to->in6))
        return;
    memcpy(&to->in6, found->ai_addr, found->ai_addrlen);
    to->len = (socklen_t)found->ai_addrlen;
    a->n++;
}

static void on_answer(int rc, struct evutil_addrinfo *found, void *arg)
{
    struct host_question *q = arg;

    for (const struct evutil_addrinfo *i = rc == 0 ? found : NULL; i != NULL; i = i->ai_next)
        add(&q->answer, i);
    if (q->answer.n == 0)
        snprintf(q->answer.why, sizeof(q->answer.why), "name: %s", evutil_gai_strerror(rc));
    if (found != NULL)
        evutil_freeaddrinfo(found);
    q->answered = true;
    if (q->open != NULL)
        list_remove(q->open, &q->in);
    if (!q->asking)
        tell(q);
}

static bool have_dns(struct hosts *s)
{
    struct event_base *base = ev_base(s->ev);

    if (s->dns == NULL && base != NULL)
        s->dns = evdns_base_new(base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
                                          EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    return s->dns != NULL;
}

struct host_question *hosts_ask(struct hosts *s, const char *addr, host_fn fn, void *arg)
{
    struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC,
                                     .ai_socktype = SOCK_STREAM,
                                     .ai_protocol = IPPROTO_TCP };
    struct host_question *q = calloc(1, sizeof(*q));
    char host[256], port_text[8];
    uint16_t port;

    if (q == NULL || net_split(addr, host, sizeof(host), &port, NULL) < 0 || !have_dns(s)) {
        free(q);
        return NULL;
    }
    snprintf(port_text, sizeof(port_text), "%u", port);
    *q = (struct host_question){ .fn = fn, .arg = arg, .asking = true };
    q->asked = evdns_getaddrinfo(s->dns, host, port_text, &hints, on_answer, q);
    q->asking = false;
    if (q->answered) { /* from the hosts file, on the spot */
        ev_post(s->ev, tell, q);
    } else {
        q->open = &s->open;
        list_push_back(q->open, &q->in);
    }
    return q;
}

void hosts_drop(struct host_question *q)
{
    q->fn = NULL;
}
