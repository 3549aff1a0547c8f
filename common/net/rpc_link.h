/* rpc_link.h: a dialled peer: rpc_dial(), rpc_link_free(); dials again. Shell. */
#ifndef SEGQ_RPC_LINK_H
#define SEGQ_RPC_LINK_H

#include "common/net/rpc_int.h"

/* After the channel is gone, or was not to be had: the next try follows. May free the link. */
void link_down(struct rpc_link *l, bool was_up, const char *why);
bool link_is_news(const struct rpc_link *l); /* worth a line, not only a debug one */

#endif
