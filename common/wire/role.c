/* role.c: the names of the roles. */
#include "common/wire/role.h"

const char *rpc_role_name(enum rpc_role r)
{
    static const char *const names[] = { "?", "router", "segment", "manager" };

    return r < RPC_NROLES ? names[r] : "?";
}
