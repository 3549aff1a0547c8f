/* trust.h: a target's authorities, parsed once and not for each connection; and whether its certificate and
 * its key belong together. Shell. */
#ifndef SEGQ_OUT_TRUST_H
#define SEGQ_OUT_TRUST_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/task/call.h"

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
