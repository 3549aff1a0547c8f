/* libcurl.h: one request with libcurl. Shell. For the files of this room. */
#ifndef SEGQ_OUT_LIBCURL_H
#define SEGQ_OUT_LIBCURL_H

#include "task/out/out_int.h"

/* False: no memory; out_call_free() is enough. */
SQ_CHECK bool libcurl_prepare(struct out_call *c, const struct out_request *q);
void libcurl_go(struct out_call *c, const struct net_addr *a);
/* libcurl is done with it. */
void libcurl_ended(struct out_call *c, CURLcode rc);
/* Closes its connection. */
void libcurl_drop(struct out_call *c);

/* libcurl keeps deadlines, but not while a call waits for one of its connections: so much later a
 * call is ended without it. */
#define LIBCURL_LATE_MS 100

void libcurl_late_by(struct out *o, msec_t when);
/* Ends the calls of a target that are late; returns when the next one will be. */
msec_t libcurl_late(struct out_target *t, msec_t now);

#endif
