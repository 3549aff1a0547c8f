/* rpc_link.h: how connections come to be: rpc_dial(), which dials again; and their input. Shell. */
#ifndef SEGQ_RPC_LINK_H
#define SEGQ_RPC_LINK_H

#include "common/net/rpc_int.h"

/* After the channel is gone, or was not to be had: the next try follows. May free the link. */
void link_down(struct rpc_link *l, bool was_up, const char *why);
bool link_is_news(const struct rpc_link *l); /* worth a line, not only a debug one */

/* Takes fd (also on failure). NULL: no memory. */
struct rpc_chan *chan_new(struct rpc *r, int fd, enum chan_state state,
                          const struct rpc_calls *calls, void *ctx);
void chan_begin(struct rpc_chan *ch);  /* a stranger's handshake, if it may */
void chan_resume(struct rpc_chan *ch); /* handles what is here already */

#endif
