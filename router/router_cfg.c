/* router_cfg.c: the table of a router's configuration. */
#include "router/router_cfg.h"

#include "common/cfg_common.h"
#include "router/gate.h"

#define K(name) .key = #name, .offset = offsetof(struct router_cfg, name)

static const char *const proxy_headers[] = { "x-forwarded-for", "forwarded", NULL };

static const char *const https_words[] = { "auto", "always", "never", NULL };

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
    { K(conns_per_addr), .type = CFG_INT, .def = "1000", .min = 0, .max = 1000000,
      .reload = true, .help = "of these, for one address (/32 or /64); 0 = any number" },
    { K(join_limit_per_s), .type = CFG_NUM, .def = "5", .min = 0, .max = 100000,
      .reload = true, .help = "joins of one address, in the long run; 0 = any number" },
    { K(join_burst), .type = CFG_INT, .def = "20", .min = 1, .max = 1000000,
      .reload = true, .help = "joins that it may send at once" },
    { K(poll_limit_per_s), .type = CFG_NUM, .def = "50", .min = 0, .max = 100000,
      .reload = true, .help = "polls, leaves, questions about queues; 0 = any number" },
    { K(poll_burst), .type = CFG_INT, .def = "200", .min = 1, .max = 1000000,
      .reload = true, .help = "of those, at once" },
    { K(bad_limit_per_s), .type = CFG_NUM, .def = "5", .min = 0, .max = 100000,
      .reload = true, .help = "forged tokens and malformed requests; 0 = any number" },
    { K(bad_burst), .type = CFG_INT, .def = "50", .min = 1, .max = 1000000,
      .reload = true, .help = "of those, at once" },
    { K(limit_table_entries), .type = CFG_INT, .def = "65536", .min = 8, .max = 16777216,
      .help = "addresses that are remembered, at 32 bytes" },
    { K(verify_cache), .type = CFG_INT, .def = "16384", .min = 4, .max = 16777216,
      .help = "passes whose signature need not be checked again, at 540 bytes" },
    { K(trusted_proxies), .type = CFG_STRS, .def = "", .min = 0, .max = GATE_MAX_PROXIES,
      .help = "addresses and networks that may say whom they ask for" },
    { K(proxy_header), .type = CFG_ENUM, .def = "x-forwarded-for", .words = proxy_headers,
      .help = "where they say it" },
    { K(page_dir), .type = CFG_STR, .def = "", .max = 4000,
      .help = "files in place of the waiting page's own, read at the start; \"\" = none" },
    { K(page_https), .type = CFG_ENUM, .def = "auto", .words = https_words,
      .help = "cookies are for https only: auto = if a trusted proxy says so" },
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
    { K(coalesce_us), .type = CFG_INT, .def = "60", .min = 0, .max = 10000,
      .help = "under load, turns begin at least so many microseconds apart; 0 = at once" },
    { K(heartbeat), .type = CFG_MS, .def = "1s", .min = 50, .max = 60000,
      .help = "on internal links; silent for three of them = gone" },
    CFG_LOG_KEYS(struct router_cfg),
    { .key = NULL },
};

static int check_refill(const char *name, double per_s, int64_t burst, struct err *e)
{
    if (per_s > 0 && (double)burst / per_s > LIMIT_MAX_REFILL_S)
        return err_set(e, SQ_EINVAL,
                       "%s_burst: more than %s_limit_per_s gives back in an hour", name,
                       name);
    return 0;
}

int router_cfg_check(const void *cfg, struct err *e)
{
    const struct router_cfg *c = cfg;
    char **text = c->trusted_proxies.v;
    int rc = check_refill("join", c->join_limit_per_s, c->join_burst, e);

    if (rc == 0)
        rc = check_refill("poll", c->poll_limit_per_s, c->poll_burst, e);
    if (rc == 0)
        rc = check_refill("bad", c->bad_limit_per_s, c->bad_burst, e);
    for (size_t i = 0; rc == 0 && i < c->trusted_proxies.n; i++) {
        struct ip_net net;

        if (!ip_net_parse(&net, text[i]))
            rc = err_set(e, SQ_EINVAL,
                         "trusted_proxies: \"%.60s\" is no address and no network in "
                         "CIDR notation",
                         text[i]);
    }
    return rc;
}
