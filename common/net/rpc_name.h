/* rpc_name.h: the address of a host name, asked without stopping the loop. Shell. */
#ifndef SEGQ_RPC_NAME_H
#define SEGQ_RPC_NAME_H

#include "common/net/rpc_int.h"

typedef void (*name_fn)(void *arg, const struct net_addr *a, const char *why);
/* Asks for "host:port"; fn is called later, once, with an address or a reason. NULL: it
 * cannot be asked. */
struct rpc_name *name_ask(struct rpc *r, const char *addr, name_fn fn, void *arg);
void name_drop(struct rpc_name *q); /* fn will not be called */
void name_fini(struct rpc *r);

#endif
