/* router_cfg.h: what a router can be told. */
#ifndef SEGQ_ROUTER_CFG_H
#define SEGQ_ROUTER_CFG_H

#include "common/cfg.h"

struct router_cfg {
    char *node, *listen, *admin, *secret_file, *log_file;
    struct cfg_list managers; /* of char * */
    bool create_keys;
    int64_t max_conns, max_pipelined, coalesce_us;
    int64_t head_timeout, body_timeout, idle_timeout, heartbeat, request_timeout;
    int log_level; /* enum log_level */
};

extern const struct cfg_key router_keys[];

#endif
