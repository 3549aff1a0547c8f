/* address.h: where a target is, and whether it may be reached. Shell. For the files of this
 * room. */
#ifndef SEGQ_OUT_ADDRESS_H
#define SEGQ_OUT_ADDRESS_H

#include "task/out/out_call.h"

enum address {
    ADDRESS_KNOWN,
    ADDRESS_ASKED,   /* fn will be called */
    ADDRESS_REFUSED, /* no address that may be reached */
    ADDRESS_NONE,    /* the name cannot be asked */
};
/* The address of the next connection: of the proxy, if there is one. fn: with the target. */
enum address address_of(struct out_target *t, struct net_addr *a, host_fn fn);
/* Is it known that none of its addresses may be reached? Then why, in words. It is found out again
 * every few seconds (fn as above). */
bool address_is_refused(struct out_target *t, host_fn fn, char *why, size_t cap);
/* An answer has come. */
void address_told(struct out_target *t, const struct host_answer *a);
/* A connection to it could not be made: the next one is tried. */
void address_failed(struct out_target *t);
bool address_may(const struct out_target *t, const struct net_addr *a);

/* May an endpoint reach it? (Server-side request forgery: a target's name that means a machine of
 * ours.) Closed are all that are not of the public internet (ip_is_public()); the endpoint's own
 * networks (`allow`) are open. */
bool ssrf_lets(const struct ip *ip, const struct ip_net *allow, unsigned n);

#endif
