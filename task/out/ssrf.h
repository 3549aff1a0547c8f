/* ssrf.h: which addresses an endpoint may reach (server-side request forgery: a target's name that
 * means a machine of ours). Pure.
 *
 * Closed are all that are not of the public internet: the special-purpose registries of IANA (RFC
 * 6890 and its successors), multicast, and the v6 forms that carry a v4 address, if that one is
 * closed. The endpoint's own networks (`allow`) are open. */
#ifndef SEGQ_OUT_SSRF_H
#define SEGQ_OUT_SSRF_H

#include "common/base/ip.h"

bool ssrf_lets(const struct ip *ip, const struct ip_net *allow, unsigned n);

#endif
