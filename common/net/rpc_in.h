/* rpc_in.h: a new connection of rpc.h, and the frames that come in on it. Shell. */
#ifndef SEGQ_RPC_IN_H
#define SEGQ_RPC_IN_H

#include "common/net/rpc_int.h"

/* Takes fd (also on failure). NULL: no memory. */
struct rpc_chan *chan_new(struct rpc *r, int fd, enum chan_state state,
                          const struct rpc_calls *calls, void *ctx);
void chan_frames(struct rpc_chan *ch); /* handles what is in `in` */

#endif
