/* libcurl.h: requests with libcurl on our loop: no thread, nothing blocks. Shell. For the files of
 * this room. */
#ifndef SEGQ_OUT_LIBCURL_H
#define SEGQ_OUT_LIBCURL_H

#include "task/out/out_call.h"

/* False: no memory; out_call_free() is enough. */
SQ_CHECK bool libcurl_prepare(struct out_call *c, const struct out_request *q);
void libcurl_go(struct out_call *c, const struct net_addr *a);
/* Reads on. */
void libcurl_go_on(struct out_call *c);
/* Closes its connection. */
void libcurl_drop(struct out_call *c);
SQ_CHECK bool libcurl_loop_init(struct out *o); /* false: no memory, and nothing is left */
void libcurl_loop_fini(struct out *o);

#endif
