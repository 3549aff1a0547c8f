/* libcurl.h: one request with libcurl. Shell. For the files of this room. */
#ifndef SEGQ_OUT_LIBCURL_H
#define SEGQ_OUT_LIBCURL_H

#include "task/out/out_int.h"

/* False: no memory; out_call_free() is enough. */
SQ_CHECK bool libcurl_prepare(struct out_call *c, const struct out_request *q);
void libcurl_go(struct out_call *c, const struct net_addr *a);
/* libcurl is done with it. */
void libcurl_ended(struct out_call *c, CURLcode rc);
/* Its connection is closed. */
void libcurl_drop(struct out_call *c);

#endif
