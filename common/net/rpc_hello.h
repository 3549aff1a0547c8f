/* rpc_hello.h: the hello: each end proves to the other who it is. Shell. */
#ifndef SEGQ_RPC_HELLO_H
#define SEGQ_RPC_HELLO_H

#include "common/net/rpc_int.h"

void hello_start(struct rpc_chan *ch); /* the dialler speaks first */
void hello_frame(struct rpc_chan *ch, const struct frame *f);

#endif
