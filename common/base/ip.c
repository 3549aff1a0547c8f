/* ip.c: strict readers: one spelling per number, nothing octal, nothing left over. */
#include "common/base/ip.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

#define NO_GAP 99u

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

static bool parse_v4(uint8_t out[4], const char *p, const char *end)
{
    for (unsigned i = 0; i < 4; i++) {
        const char *from = p;
        unsigned v = 0;

        while (p < end && p - from < 3 && *p >= '0' && *p <= '9')
            v = v * 10 + (unsigned)(*p++ - '0');
        if (p == from || v > 255 || (*from == '0' && p - from > 1))
            return false;
        out[i] = (uint8_t)v;
        if (i < 3 && (p == end || *p++ != '.'))
            return false;
    }
    return p == end;
}

/* The groups into b, without what "::" stands for. How many bytes; 0: malformed.
 * *gap: the bytes before the "::". */
static size_t groups(uint8_t b[16], const char *p, const char *end, size_t *gap)
{
    size_t at = 0;

    while (p < end) {
        const char *from = p;
        unsigned v = 0;

        while (p < end && p - from < 5 && hex_value(*p) >= 0)
            v = v << 4 | (unsigned)hex_value(*p++);
        if (p < end && *p == '.') /* the last four bytes may be written as IPv4 */
            return at <= 12 && parse_v4(b + at, from, end) ? at + 4 : 0;
        if (p == from || p - from > 4 || at > 14)
            return 0;
        b[at++] = (uint8_t)(v >> 8);
        b[at++] = (uint8_t)v;
        if (p == end)
            return at;
        if (*p++ != ':' || p == end)
            return 0;
        if (*p == ':') {
            if (*gap != NO_GAP)
                return 0;
            *gap = at;
            p++;
        }
    }
    return at;
}

static bool parse_v6(uint8_t out[16], const char *p, const char *end)
{
    size_t gap = NO_GAP, n;
    uint8_t b[16];

    if (end - p >= 2 && p[0] == ':' && p[1] == ':') {
        gap = 0;
        p += 2;
    }
    if (p == end && gap == NO_GAP)
        return false;
    n = groups(b, p, end, &gap);
    if (n == 0 && p != end)
        return false;
    if (gap == NO_GAP ? n != 16 : n > 14)
        return false;
    if (gap == NO_GAP)
        gap = 16;
    memset(out, 0, 16);
    memcpy(out, b, gap < n ? gap : n);
    if (gap < n)
        memcpy(out + 16 - (n - gap), b + gap, n - gap);
    return true;
}

bool ip_parse(struct ip *out, const char *p, size_t n)
{
    struct ip ip;

    memcpy(ip.b, v4_prefix, sizeof(v4_prefix));
    if (!parse_v4(ip.b + 12, p, p + n) && !parse_v6(ip.b, p, p + n))
        return false;
    *out = ip;
    return true;
}

bool ip_in_any(const struct ip_net *nets, size_t n, const struct ip *ip)
{
    for (size_t i = 0; i < n; i++)
        if (ip_in(&nets[i], ip))
            return true;
    return false;
}

bool ip_is_v4(const struct ip *ip)
{
    return memcmp(ip->b, v4_prefix, sizeof(v4_prefix)) == 0;
}

/* The number behind the slash; false unless it is one, up to `most`. */
static bool prefix_bits(const char *p, unsigned most, unsigned *out)
{
    int64_t v = strlen(p) <= 4 ? decimal_read(p, strlen(p), most) : -1;

    *out = (unsigned)v;
    return v >= 0;
}

bool ip_net_parse(struct ip_net *out, const char *text)
{
    const char *slash = strchr(text, '/');
    size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
    struct ip_net net;
    unsigned bits, most;

    if (!ip_parse(&net.ip, text, n))
        return false;
    most = memchr(text, ':', n) != NULL ? 128 : 32;
    bits = most;
    if (slash != NULL && !prefix_bits(slash + 1, most, &bits))
        return false;
    net.bits = (uint8_t)(128 - most + bits);
    for (unsigned i = net.bits; i < 128; i++)
        if (net.ip.b[i / 8] & 0x80 >> i % 8)
            return false;
    *out = net;
    return true;
}

bool ip_in(const struct ip_net *net, const struct ip *ip)
{
    unsigned whole = net->bits / 8, rest = net->bits % 8;

    if (memcmp(net->ip.b, ip->b, whole) != 0)
        return false;
    return rest == 0 || (net->ip.b[whole] ^ ip->b[whole]) >> (8 - rest) == 0;
}

/* ---- what is public ------------------------------------------------------------------------ */

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

/* Public addresses of v6: this net alone, without these. */
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

static bool is_in_net(const char *net, const struct ip *ip)
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
        if (is_in_net(nets[i], ip))
            return true;
    return false;
}

bool ip_is_public(const struct ip *ip)
{
    struct ip v4 = { .b = { [10] = 0xff, [11] = 0xff } };

    if (ip_is_v4(ip))
        return !is_in_any(closed, ARRAY_LEN(closed), ip);
    for (size_t i = 0; i < ARRAY_LEN(carriers); i++)
        if (is_in_net(carriers[i].net, ip)) {
            memcpy(v4.b + 12, ip->b + carriers[i].at, 4);
            return ip_is_public(&v4);
        }
    return is_in_net(public_v6, ip) && !is_in_any(closed_v6, ARRAY_LEN(closed_v6), ip);
}
