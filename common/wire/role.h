/* role.h: the kinds of process that speak to one another. Pure. */
#ifndef SEGQ_ROLE_H
#define SEGQ_ROLE_H

/* The numbers are those of the hello (PROTOCOL.md, section 8): never changed. */
enum rpc_role { RPC_ROUTER = 1, RPC_SEGMENT = 2, RPC_MANAGER = 3, RPC_TASK = 4, RPC_NROLES };

const char *rpc_role_name(enum rpc_role r); /* "router"; "?" for an unknown one */

#endif
