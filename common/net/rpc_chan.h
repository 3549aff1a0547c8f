/* rpc_chan.h: one connection: output, and how it ends. Shell. (Its input: rpc_link.h.) */
#ifndef SEGQ_RPC_CHAN_H
#define SEGQ_RPC_CHAN_H

#include "common/net/rpc_int.h"

/* The next turn must not wait: there is something to do at its end. */
void rpc_again(struct rpc *r);
/* Closes: on_down and the memory follow at the end of the turn. The first reason counts. */
void chan_fail(struct rpc_chan *ch, const char *fmt, ...) SQ_PRINTF(2, 3);
void chan_free(struct rpc_chan *ch);  /* at once, silently */
void chan_up(struct rpc_chan *ch);    /* the hello is complete */
void chan_dirty(struct rpc_chan *ch); /* has output: written at the end of the turn */
void chan_write(struct rpc_chan *ch);
ssize_t chan_put(struct rpc_chan *ch); /* hands what is waiting to the kernel, once: as send(2) */
/* A whole frame of ours (hello, ping). */
void chan_send(struct rpc_chan *ch, enum msg_type type, const void *body, size_t n);

#endif
