/* router_cfg.c: the table of a router's configuration. */
#include "router/router_cfg.h"

#include "common/cfg_common.h"

#define K(name) .key = #name, .offset = offsetof(struct router_cfg, name)

const struct cfg_key router_keys[] = {
    { K(node), .type = CFG_STR, .def = "router", .min = 1, .max = NAME_MAX_LEN,
      .help = "name of this router; each one has its own" },
    { K(listen), .type = CFG_ADDR, .def = "0.0.0.0:8080",
      .help = "public HTTP; several routers may share one port" },
    { K(admin), .type = CFG_ADDR, .def = "127.0.0.1:7100",
      .help = "/metrics and /healthz for operators" },
    CFG_MANAGERS_KEY(struct router_cfg),
    CFG_SECRET_KEY(struct router_cfg),
    { K(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "make the secret if the file is missing" },
    { K(max_conns), .type = CFG_INT, .def = "65536", .min = 1, .max = 1000000,
      .help = "public connections at the same time; more wait in the backlog" },
    { K(max_pipelined), .type = CFG_INT, .def = "64", .min = 1, .max = 10000,
      .help = "requests of one connection that are being answered" },
    { K(head_timeout), .type = CFG_MS, .def = "10s", .min = 10, .max = 600000,
      .help = "from the first byte of a request to the end of its head" },
    { K(body_timeout), .type = CFG_MS, .def = "10s", .min = 10, .max = 600000,
      .help = "for a request's body, and for a client to take its answers" },
    { K(idle_timeout), .type = CFG_MS, .def = "75s", .min = 10, .max = 86400000,
      .help = "a kept-alive connection without a request is closed" },
    { K(request_timeout), .type = CFG_MS, .def = "2s", .min = 50, .max = 60000,
      .help = "a request that the cluster has not answered by then gets 503" },
    { K(coalesce_us), .type = CFG_INT, .def = "100", .min = 0, .max = 10000,
      .help = "under load, turns begin at least so many microseconds apart; 0 = at once" },
    { K(heartbeat), .type = CFG_MS, .def = "1s", .min = 50, .max = 60000,
      .help = "on internal links; silent for three of them = gone" },
    CFG_LOG_KEYS(struct router_cfg),
    { .key = NULL },
};
