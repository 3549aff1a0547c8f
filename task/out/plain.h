/* plain.h: our own HTTP/1.1 client, for targets without TLS and without a proxy: a third of what a
 * request costs with libcurl. Shell. For the files of this room.
 *
 * A request leaves in one write, over a kept connection, if there is one. Of a kept one that turns
 * out to be dead before a byte has left, the request goes over another one; once a byte has left,
 * nobody knows what the target did with it. An answer that comes before all is sent is an answer;
 * its connection is not used again. A turn of the loop reads 64 KiB of an answer. */
#ifndef SEGQ_OUT_PLAIN_H
#define SEGQ_OUT_PLAIN_H

#include "task/out/out_call.h"

SQ_CHECK bool plain_init(struct out *o); /* false: no memory */
void plain_fini(struct out *o);          /* no target is left */

/* False: no memory. */
SQ_CHECK bool plain_prepare(struct out_call *c, const struct out_request *q);
void plain_go(struct out_call *c, const struct net_addr *a);
/* Reads on. */
void plain_go_on(struct out_call *c);
/* Closes its connection; it stays in its list. */
void plain_drop(struct out_call *c);
/* The connections that are kept for it are closed. It has no calls. */
void plain_forget(struct out_target *t);

#endif
