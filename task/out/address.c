/* address.c: an answer of name servers is used again for some seconds; while a newer one is asked
 * for, the old one counts. */
#include "task/out/address.h"

#include <stdio.h>
#include <string.h>

#include "task/out/ssrf.h"

#define FRESH_MS 5000
#define STALE_MS 60000

static bool has_proxy(const struct out_target *t)
{
    return t->proxy.host[0] != 0;
}

bool address_may(const struct out_target *t, const struct net_addr *a)
{
    struct ip ip;

    return has_proxy(t) ||
           (net_ip(a, &ip) && ssrf_lets(&ip, t->rules.allow, t->rules.n_allow));
}

static void hop(const struct out_target *t, char *text, size_t cap)
{
    const struct url *u = has_proxy(t) ? &t->proxy : &t->url;

    snprintf(text, cap, strchr(u->host, ':') != NULL ? "[%s]:%u" : "%s:%u", u->host, u->port);
}

static bool pick(const struct out_target *t, struct net_addr *a)
{
    for (unsigned i = 0; i < t->known.n; i++) {
        *a = t->known.addr[(t->at + i) % t->known.n];
        if (address_may(t, a))
            return true;
    }
    return false;
}

enum address address_of(struct out_target *t, struct net_addr *a, host_fn fn)
{
    msec_t age = ev_now(t->out->ev) - t->asked_ms;
    char text[URL_HOST_MAX + 16];
    int rc;

    hop(t, text, sizeof(text));
    rc = net_parse(a, text, NULL);
    if (rc == 0)
        return address_may(t, a) ? ADDRESS_KNOWN : ADDRESS_REFUSED;
    if (t->question == NULL && (t->known.n == 0 || age >= FRESH_MS))
        t->question = hosts_ask(&t->out->hosts, text, fn, t);
    if (t->known.n > 0 && age < STALE_MS)
        return pick(t, a) ? ADDRESS_KNOWN : ADDRESS_REFUSED;
    return t->question != NULL ? ADDRESS_ASKED : ADDRESS_NONE;
}

void address_told(struct out_target *t, const struct host_answer *a)
{
    bool is_stale = ev_now(t->out->ev) - t->asked_ms >= STALE_MS;

    t->question = NULL;
    if (a->n == 0 && t->known.n > 0 && !is_stale)
        return; /* the last good ones, for a while */
    t->known = *a;
    t->at = 0;
    t->asked_ms = ev_now(t->out->ev);
}

void address_failed(struct out_target *t)
{
    t->at++;
}
