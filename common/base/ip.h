/* ip.h: IP addresses and networks, read from text: they are compared, never shown. Pure.
 * An IPv4 address is kept as ::ffff:a.b.c.d, so that there is one kind. */
#ifndef SEGQ_IP_H
#define SEGQ_IP_H

#include "common/base/base.h"

struct ip {
    uint8_t b[16];
};

struct ip_net {
    struct ip ip;
    uint8_t bits; /* leading bits of 128 that count */
};

/* Numeric, all of the n bytes: no brackets, port, zone or blanks. */
SQ_CHECK bool ip_parse(struct ip *out, const char *p, size_t n);
/* "10.0.0.0/8", "2001:db8::/32", or an address alone. Bits behind the prefix must be 0:
 * who writes 10.1.2.3/8 means something else. */
SQ_CHECK bool ip_net_parse(struct ip_net *out, const char *text);
bool ip_in(const struct ip_net *net, const struct ip *ip);
bool ip_in_any(const struct ip_net *nets, size_t n, const struct ip *ip);
bool ip_is_v4(const struct ip *ip);
/* Is it of the public internet? Not so are the special-purpose registries of IANA (RFC 6890 and its
 * successors), multicast, and the v6 forms that carry a v4 address, if that one is not. */
bool ip_is_public(const struct ip *ip);

#endif
