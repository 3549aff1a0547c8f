/* ssrf.c: the lists. */
#include "task/out/ssrf.h"

#include <assert.h>
#include <string.h>

static const char *const closed[] = {
    "0.0.0.0/8",       /* this network; Linux takes 0.0.0.0 for itself */
    "10.0.0.0/8",      /* private */
    "100.64.0.0/10",   /* carriers' NAT; metadata of some clouds */
    "127.0.0.0/8",     /* loopback */
    "169.254.0.0/16",  /* link-local: metadata of most clouds */
    "172.16.0.0/12",   /* private */
    "192.0.0.0/24",    /* protocols */
    "192.0.2.0/24",    /* documents */
    "192.88.99.0/24",  /* 6to4 relays */
    "192.168.0.0/16",  /* private */
    "198.18.0.0/15",   /* benchmarks */
    "198.51.100.0/24", /* documents */
    "203.0.113.0/24",  /* documents */
    "224.0.0.0/4",     /* multicast */
    "240.0.0.0/4",     /* reserved; broadcast */
    "168.63.129.16",   /* a cloud's own services, at a public address */
};

/* Of v6 only this is public; and in it not these. */
static const char public_v6[] = "2000::/3";
static const char *const closed_v6[] = {
    "2001::/23",     /* protocols: Teredo, benchmarks, ORCHID */
    "2001:db8::/32", /* documents */
    "3fff::/20",     /* documents */
};

/* v6 networks that have a v4 address behind them, at that byte. */
static const struct {
    const char *net;
    unsigned at;
} carriers[] = {
    { "64:ff9b::/96", 12 },    /* NAT64 */
    { "2002::/16", 2 },        /* 6to4 */
};

static bool is_in(const char *net, const struct ip *ip)
{
    struct ip_net n;
    bool ok = ip_net_parse(&n, net);

    assert(ok);
    (void)ok;
    return ip_in(&n, ip);
}

static bool is_in_any(const char *const *nets, size_t n, const struct ip *ip)
{
    for (size_t i = 0; i < n; i++)
        if (is_in(nets[i], ip))
            return true;
    return false;
}

static bool is_public(const struct ip *ip)
{
    struct ip v4 = { .b = { [10] = 0xff, [11] = 0xff } };

    if (ip_is_v4(ip))
        return !is_in_any(closed, ARRAY_LEN(closed), ip);
    for (size_t i = 0; i < ARRAY_LEN(carriers); i++)
        if (is_in(carriers[i].net, ip)) {
            memcpy(v4.b + 12, ip->b + carriers[i].at, 4);
            return is_public(&v4);
        }
    return is_in(public_v6, ip) && !is_in_any(closed_v6, ARRAY_LEN(closed_v6), ip);
}

bool ssrf_lets(const struct ip *ip, const struct ip_net *allow, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (ip_in(&allow[i], ip))
            return true;
    return is_public(ip);
}
