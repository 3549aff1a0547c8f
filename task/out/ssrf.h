/* ssrf.h: which addresses an endpoint may reach (server-side request forgery: a target's name that
 * means a machine of ours). Pure.
 *
 * Closed are all that are not of the public internet (ip_is_public()). The endpoint's own networks
 * (`allow`) are open. */
#ifndef SEGQ_OUT_SSRF_H
#define SEGQ_OUT_SSRF_H

#include "common/base/ip.h"

bool ssrf_lets(const struct ip *ip, const struct ip_net *allow, unsigned n);

#endif
