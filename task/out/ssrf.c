/* ssrf.c: see the header. */
#include "task/out/ssrf.h"

bool ssrf_lets(const struct ip *ip, const struct ip_net *allow, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (ip_in(&allow[i], ip))
            return true;
    return ip_is_public(ip);
}
