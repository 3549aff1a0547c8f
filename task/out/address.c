/* address.c: an answer of name servers is used again for some seconds; while a newer one is asked
 * for, the old one counts. */
#include "task/out/address.h"

#include <stdio.h>
#include <string.h>

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
    const char *host = u == &t->url && t->address[0] != 0 ? t->address : u->host;

    snprintf(text, cap, strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, u->port);
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

/* The host in text, and its address if it is a number. 0; or SQ_EUNKNOWN: it is a name. */
static int parse_hop(const struct out_target *t, char *text, size_t cap, struct net_addr *a)
{
    hop(t, text, cap);
    return net_parse(a, text, NULL);
}

/* A name that is asked for already is not asked for again. */
static void ask(struct out_target *t, const char *text, host_fn fn)
{
    if (t->question == NULL)
        t->question = hosts_ask(&t->out->hosts, text, fn, t);
}

bool address_is_refused(struct out_target *t, host_fn fn, char *why, size_t cap)
{
    struct net_addr a;
    char text[URL_HOST_MAX + 16], ip[NET_TEXT_MAX];
    bool is_refused, is_name = parse_hop(t, text, sizeof(text), &a) != 0;

    is_refused = is_name ? t->known.n > 0 && !pick(t, &a) : !address_may(t, &a);
    if (is_name && (is_refused ? ev_now(t->out->ev) - t->asked_ms >= FRESH_MS : t->asked_ms == 0))
        ask(t, text, fn);
    if (!is_refused)
        return false;
    net_ip_text(is_name ? &t->known.addr[0] : &a, ip);
    if (is_name)
        snprintf(why, cap, "%s is at %s, which is not public, and not in `allow`", t->url.host, ip);
    else
        snprintf(why, cap, "%s is not public, and not in `allow`", ip);
    return true;
}

enum address address_of(struct out_target *t, struct net_addr *a, host_fn fn)
{
    msec_t age = ev_now(t->out->ev) - t->asked_ms;
    char text[URL_HOST_MAX + 16];

    if (parse_hop(t, text, sizeof(text), a) == 0)
        return address_may(t, a) ? ADDRESS_KNOWN : ADDRESS_REFUSED;
    if (t->known.n == 0 || age >= FRESH_MS)
        ask(t, text, fn);
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

bool ssrf_lets(const struct ip *ip, const struct ip_net *allow, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (ip_in(&allow[i], ip))
            return true;
    return ip_is_public(ip);
}
