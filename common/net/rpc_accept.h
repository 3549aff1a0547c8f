/* rpc_accept.h: listening, and whom it lets in. Shell. */
#ifndef SEGQ_RPC_ACCEPT_H
#define SEGQ_RPC_ACCEPT_H

#include "common/net/rpc_int.h"

/* A new beat: descriptors that were paused are watched again, handshakes that waited begin. */
void accept_beat(struct rpc *r);

#endif
