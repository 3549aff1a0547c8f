/* config.c: the table of queuemng's configuration. */
#include "queuemng/process/config.h"

#include <string.h>

#include "common/config/cfg_check.h"
#include "common/wire/msg_task_manager.h"
#include "queuemng/monitor/monitor.h"
#include "queuemng/policy/def_kind.h"

#define TWICE_MAX 2000 /* in a longer list names are not compared with each other */

static const char *const kinds[] = { "proc", "prometheus", "page", NULL };
static const char *const whats[] = { "cpu", "memory", NULL };
static const char *const severals[] = { "sum", "max", NULL };

#define M(key_, field) .key = #key_, .offset = offsetof(struct metric_def, field)
static const struct cfg_key metric_keys[] = {
    { M(name, name), .type = CFG_NAME, .reload = true, .help =
      "name by which limits of queues refer to the metric" },
    { M(kind, kind), .type = CFG_ENUM, .def = "proc", .words = kinds, .reload = true,
      .help = "where values come from: /proc of this machine, a Prometheus server, or a "
              "/metrics page" },
    { M(what, what), .type = CFG_ENUM, .def = "cpu", .words = whats, .reload = true,
      .help = "proc: percent of all processors (for processes: of one processor), or "
              "percent of memory" },
    { M(pid_file, pid_file), .type = CFG_STR, .def = "", .max = 4000, .reload = true,
      .help = "proc: measure the process whose pid is in this file" },
    { M(process, process), .type = CFG_STR, .def = "", .max = 15, .reload = true,
      .help = "proc: measure all processes of this name; neither key: the whole machine" },
    { M(url, url), .type = CFG_STR, .def = "", .max = 2000, .reload = true,
      .help = "prometheus: http://HOST:PORT of the server; page: address of the page" },
    { M(query, query), .type = CFG_STR, .def = "", .max = 4000, .reload = true,
      .help = "prometheus: PromQL with one result; page: name of the sample" },
    { M(labels, labels), .type = CFG_STR, .def = "", .max = 1000, .reload = true,
      .help = "page: labels that the sample must have: name=value,..." },
    { M(several, several), .type = CFG_ENUM, .def = "sum", .words = severals, .reload = true,
      .help = "page: how several samples become one value" },
    { M(counter_rate, counter_rate), .type = CFG_BOOL, .def = "false", .reload = true,
      .help = "the value is a counter; use its growth per second" },
    { M(max, max), .type = CFG_NUM, .def = "1000000000", .min = 0, .max = 1e9, .reload = true,
      .help = "highest plausible value; a reading above it counts as failed" },
    { M(interval, interval_ms), .type = CFG_MS, .def = "1s", .min = 100, .max = 10000,
      .reload = true, .help = "time between two readings" },
    { M(timeout, timeout_ms), .type = CFG_MS, .def = "1s", .min = 10, .max = 10000,
      .reload = true, .help = "longest time for one reading" },
    { M(stale, stale_ms), .type = CFG_MS, .def = "5s", .min = 0, .max = 15000, .reload = true,
      .help = "how long the last value is used while readings fail" },
    { .key = NULL },
};

#define K(key_, field) .key = #key_, .offset = offsetof(struct mng_cfg, field)
const struct cfg_key mng_keys[] = {
    { K(node, node), .type = CFG_STR, .def = "queuemng", .min = 1, .max = NAME_MAX_LEN,
      .help = "name of this manager (letters, digits, . _ -)" },
    { K(listen, listen), .type = CFG_ADDR, .def = "127.0.0.1:7070",
      .help = "address for routers and segment nodes" },
    { K(admin, admin), .type = CFG_ADDR, .def = "127.0.0.1:7071",
      .help = "address of the admin API, /metrics and /healthz" },
    { K(advertise, advertise), .type = CFG_STR, .def = "", .max = 63,
      .help = "host:port of this manager, for peers that reach a standby; \"\" = listen" },
    { K(advertise_admin, advertise_admin), .type = CFG_STR, .def = "", .max = 63,
      .help = "host:port of this manager's admin API, for operators who reach a standby; "
              "\"\" = admin" },
    CFG_PLACE_KEYS(struct mng_cfg),
    CFG_SECRET_KEY(struct mng_cfg),
    CFG_ADMIN_TLS_KEYS(struct mng_cfg),
    { K(admin_hsts, admin_hsts_ms), .type = CFG_MS, .def = "0", .min = 0, .max = CFG_HSTS_MAX_MS,
      .reload = true, .help = "with admin_cert: time for which browsers shall come to the manager's "
                              "host, with all of its ports, by https alone; 0: nothing is said of it" },
    CFG_TLS_KEYS(struct mng_cfg),
    { K(admin_token_file, admin_token_file), .type = CFG_STR, .def = "admin.token", .min = 1,
      .max = 4000, .help = "file with a bearer token that may do everything (its name is root)" },
    { K(admin_tokens_file, admin_tokens_file), .type = CFG_STR, .def = "", .max = 4000,
      .reload = true, .help = "file of further tokens, with names, roles and ends (segqctl token add); "
                              "\"\": none" },
    { K(admin_trusted_proxies, admin_trusted_proxies), .type = CFG_STRS, .def = "", .min = 0,
      .max = CFG_NETS_MAX, .reload = true,
      .help = "proxies in front of the admin port, as addresses or networks, whose X-Forwarded-User, "
              "-Email, -Groups and -For are believed; whoever can send from there is anybody" },
    { K(admin_proxy_secret_file, admin_proxy_secret_file), .type = CFG_STR, .def = "", .max = 4000,
      .reload = true,
      .help = "file (mode 0600) with a secret that they have to send as X-Segq-Proxy, so that no "
              "other program of their machine is believed; \"\" = the address is enough" },
    { K(admin_sign_out_url, admin_sign_out_url), .type = CFG_STR, .def = "", .max = 1000, .reload = true,
      .help = "where the dashboard's sign-out leads those whom a proxy has signed in, like "
              "/oauth2/sign_out; \"\" = it says that the proxy keeps the session" },
    { K(admin_session_idle, session_idle_ms), .type = CFG_MS, .def = "30m", .min = 60000, .max = 4.32e7,
      .reload = true, .help = "time without a key or a click after which the dashboard signs out" },
    { K(create_keys, create_keys), .type = CFG_BOOL, .def = "false",
      .help = "create secret_file and admin_token_file if they are missing" },
    { K(data_dir, data_dir), .type = CFG_STR, .def = "data", .min = 1, .max = 400,
      .help = "folder of the manager's store (without redis) and of the operators' log" },
    CFG_REDIS_KEYS(struct mng_cfg, "with them several managers may run, of which one leads",
                   "; at most a third of lease", "the manager acts on it"),
    { K(lease, lease_ms), .type = CFG_MS, .def = "2s", .min = 300, .max = 60000,
      .help = "time after which a standby takes over from a dead leader" },
    { K(issuer, issuer), .type = CFG_STR, .def = "segq", .min = 1, .max = 100,
      .help = "issuer (\"iss\") in the passes" },
    { K(tick, tick_ms), .type = CFG_MS, .def = "100ms", .min = 10, .max = 1000,
      .help = "period of the release controller" },
    { K(lost_after, lost_after_ms), .type = CFG_MS, .def = "30s", .min = 1000, .max = 3.6e6,
      .help = "silence after which a segment node is given up, with its segments" },
    { K(forget_after, forget_after_ms), .type = CFG_MS, .def = "5m", .min = 1000,
      .max = 3.6e6, .help = "time after which a drained node that is gone is forgotten" },
    { K(skip_after, skip_after_ms), .type = CFG_MS, .def = "5s", .min = 100, .max = 3.6e6,
      .help = "time after which releases pass over an unreachable head segment" },
    { K(heartbeat, heartbeat_ms), .type = CFG_MS, .def = "1s", .min = 50, .max = 60000,
      .help = "interval of heartbeats on internal links; a peer silent for three of them "
              "is gone" },
    { K(metrics, metrics), .type = CFG_OBJS, .def = "", .min = 0, .max = MNG_CFG_METRICS,
      .reload = true, .sub = metric_keys, .size = sizeof(struct metric_def),
      .help = "metrics to read, for the limits of queues" },
    { K(queues, queues), .type = CFG_OBJS, .def = "", .min = 0, .max = 20000, .reload = true,
      .sub = queue_def_keys, .size = sizeof(struct queue_def),
      .help = "queues; an entry applies when it is new or changed here, else the admin "
              "API's changes stay" },
    { K(budgets, budgets), .type = CFG_OBJS, .def = "", .min = 0, .max = BUDGETS_MAX,
      .reload = true, .sub = budget_def_keys, .size = sizeof(struct budget_def),
      .help = "what queues of people and endpoints share; an entry applies as those of queues do" },
    { K(endpoints, endpoints), .type = CFG_OBJS, .def = "", .min = 0, .max = ENDPOINTS_MAX,
      .reload = true, .sub = endpoint_def_keys, .size = sizeof(struct endpoint_def),
      .help = "where calls of pools go; one that no pool has gets a pool of its own name; an entry "
              "applies as those of queues do" },
    { K(routes, routes), .type = CFG_OBJS, .def = "", .min = 0, .max = ROUTES_MAX, .reload = true,
      .sub = route_def_keys, .size = sizeof(struct route_def),
      .help = "which endpoint a call goes to, by its body; an entry applies as those of queues do" },
    { K(pools, pools), .type = CFG_OBJS, .def = "", .min = 0, .max = 1000, .reload = true,
      .sub = pool_def_keys, .size = sizeof(struct pool_def),
      .help = "task queues that may come into being by being used; an entry applies as those "
              "of queues do" },
    CFG_LOG_KEYS(struct mng_cfg),
    { .key = NULL },
};

static int metric_check(const struct metric_def *m, struct err *e)
{
    if (m->kind == METRIC_PROC) {
        if (m->pid_file[0] != 0 && m->process[0] != 0)
            return err_set(e, SQ_EINVAL, "metric %s: pid_file or process, not both", m->name);
        return monitor_check(m, e);
    }
    if (strncmp(m->url, "http://", 7) != 0)
        return err_set(e, SQ_EINVAL, "metric %s: url must begin with http://", m->name);
    if (m->query[0] == 0)
        return err_set(e, SQ_EINVAL, "metric %s: query is missing", m->name);
    return monitor_check(m, e);
}

static int metrics_check(const struct mng_cfg *c, struct err *e)
{
    const struct metric_def *m = c->metrics.v;

    for (size_t i = 0; i < c->metrics.n; i++) {
        int rc = metric_check(&m[i], e);

        if (rc < 0)
            return rc;
        for (size_t k = 0; k < i; k++)
            if (strcmp(m[i].name, m[k].name) == 0)
                return err_set(e, SQ_EINVAL, "metric %s is listed twice", m[i].name);
    }
    return 0;
}

size_t mng_cfg_metrics(const struct mng_cfg *c, const char *names[MNG_CFG_METRICS])
{
    const struct metric_def *m = c->metrics.v;
    size_t n = 0;

    for (; n < c->metrics.n && n < MNG_CFG_METRICS; n++)
        names[n] = m[n].name;
    return n;
}

/* A path of the proxy, or an address elsewhere: nothing that a browser would run. */
static int sign_out_check(const char *url, struct err *e)
{
    bool is_path = url[0] == '/' && url[1] != '/' && url[1] != '\\';

    for (const char *p = url; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~')
            return err_set(e, SQ_EINVAL, "admin_sign_out_url: a blank, a control character, or not ASCII");
    if (url[0] == '\0' || is_path || strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0)
        return 0;
    return err_set(e, SQ_EINVAL, "admin_sign_out_url: \"%.60s\" is neither a path like /oauth2/sign_out, "
                   "nor an http:// or https:// address", url);
}

/* An address for others must be one to dial. */
static int advertise_check(const char *what, const char *told, const char *bound,
                           struct err *e)
{
    if (told[0] != 0)
        return cfg_dial_check(what, told, e);
    if (cfg_addr_any(bound))
        return err_set(e, SQ_EINVAL, "%s: with redis, peers need an address to dial, and "
                                     "%s is none", what, bound);
    return 0;
}

static int redis_check(const struct mng_cfg *c, struct err *e)
{
    int rc = cfg_redis_check(&c->redis, e);

    if (rc == 0 && cfg_has_redis(&c->redis))
        rc = advertise_check("advertise", c->advertise, c->listen, e);
    if (rc == 0 && cfg_has_redis(&c->redis))
        rc = advertise_check("advertise_admin", c->advertise_admin, c->admin, e);
    if (rc == 0 && c->redis.timeout_ms > c->lease_ms / 3)
        rc = err_set(e, SQ_EINVAL, "redis_timeout is more than a third of lease");
    return rc;
}

/* Their metrics are measured. */
static int limits_check(const char *what, const char *name, const struct cfg_list *limits,
                        const struct mng_cfg *c, struct err *e)
{
    const char *names[MNG_CFG_METRICS];
    size_t n = mng_cfg_metrics(c, names);
    int rc = metric_limits_measured(limits, NULL, names, n, e);

    return rc < 0 ? err_wrap(e, "%s %s", what, name) : 0;
}

/* Each is in order, no name is there twice, the metrics of limits are measured. */
static int defs_check(enum def_kind_no no, const struct cfg_list *l, const struct mng_cfg *c, struct err *e)
{
    const struct def_kind *k = &def_kinds[no];
    const char *v = l->v;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        const char *d = v + i * k->size;

        rc = k->check(d, e);
        if (rc == 0 && k->limits != 0)
            rc = limits_check(k->word, def_name(d), (const struct cfg_list *)(d + k->limits), c, e);
        for (size_t j = 0; rc == 0 && l->n < TWICE_MAX && j < i; j++)
            if (strcmp(def_name(d), def_name(v + j * k->size)) == 0)
                rc = err_set(e, SQ_EINVAL, "%s %s is listed twice", k->word, def_name(d));
    }
    return rc;
}

int mng_cfg_check(const void *cfg, struct err *e)
{
    const struct mng_cfg *c = cfg;

    return cfg_node_check(c->node, e)
        ?: cfg_apart_check("admin", c->admin, "listen", c->listen, e)
        ?: cfg_tls_check(&c->tls, e)
        ?: cfg_admin_tls_check(&c->admin_tls, e)
        ?: cfg_nets_check("admin_trusted_proxies", &c->admin_trusted_proxies, e)
        ?: sign_out_check(c->admin_sign_out_url, e)
        ?: redis_check(c, e)
        ?: metrics_check(c, e)
        ?: defs_check(DEF_QUEUE, &c->queues, c, e)
        ?: defs_check(DEF_BUDGET, &c->budgets, c, e)
        ?: defs_check(DEF_ENDPOINT, &c->endpoints, c, e)
        ?: defs_check(DEF_ROUTE, &c->routes, c, e)
        ?: defs_check(DEF_POOL, &c->pools, c, e);
}
