/* trust.h: which targets may be reached, and whose certificates are believed. Shell. */
#ifndef SEGQ_OUT_TRUST_H
#define SEGQ_OUT_TRUST_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/net/hosts.h"
#include "common/task/call.h"

struct out_target;

/* Where a target is, and whether it may be reached. For the files of this room. */

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

/* A target's authorities, parsed once and not for each connection; and whether its certificate and its key
 * belong together. */

struct trust {
    void *store;    /* X509_STORE, owned; NULL: the system's authorities */
    struct buf key; /* PEM of its first authority, and a number that no other target has */
};

/* Reads a PEM text; n 0: none. SQ_EINVAL: no certificate is in it. On an error nothing is left. */
SQ_CHECK int trust_read(struct trust *t, struct call_span ca, uint64_t number, struct err *e);
void trust_fini(struct trust *t);
/* Says why they cannot be used, in words; NULL: they can, or neither is there. */
const char *trust_pair_wrong(struct call_span cert, struct call_span key);
/* Gives them to a connection (CURLOPT_SSL_CTX_FUNCTION). */
void trust_give(void *ssl_ctx, const struct trust *t);

#endif
