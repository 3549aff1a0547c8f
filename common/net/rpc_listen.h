/* rpc_listen.h: the listening side of rpc.h: rpc_listen(), rpc_unlisten(). Shell. */
#ifndef SEGQ_RPC_LISTEN_H
#define SEGQ_RPC_LISTEN_H

#include "common/net/rpc_int.h"

/* Accepting was paused (r->accept_paused): watches the sockets again. */
void listen_resume(struct rpc *r);

#endif
