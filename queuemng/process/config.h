/* config.h: the configuration of a queuemng. */
#ifndef SEGQ_QUEUEMNG_PROCESS_CONFIG_H
#define SEGQ_QUEUEMNG_PROCESS_CONFIG_H

#include "common/config/cfg_check.h"
#include "queuemng/monitor/monitor.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/queue_def.h"

struct mng_cfg {
    char *node, *listen, *admin, *region, *zone;
    char *advertise, *advertise_admin; /* "" = as bound */
    char *secret_file, *admin_token_file, *admin_tokens_file, *data_dir;
    struct cfg_list admin_trusted_proxies; /* char *: addresses and networks */
    char *admin_proxy_secret_file, *admin_sign_out_url;
    bool create_keys;
    char *issuer;
    int64_t tick_ms, lost_after_ms, forget_after_ms, skip_after_ms, heartbeat_ms;
    struct cfg_redis redis; /* none: the local file */
    int64_t lease_ms, session_idle_ms, admin_hsts_ms;
    struct cfg_list metrics; /* struct metric_def */
    struct cfg_list queues;  /* struct queue_def */
    struct cfg_list budgets;   /* struct budget_def */
    struct cfg_list routes;    /* struct route_def */
    struct cfg_list endpoints; /* struct endpoint_def */
    struct cfg_list pools;   /* struct pool_def */
    int log_level;           /* enum log_level */
    char *log_file;
    struct cfg_tls tls;
    struct cfg_cert admin_tls;
};

extern const struct cfg_key mng_keys[];
#define MNG_CFG_METRICS 32
/* Their names, refs into c; how many. */
size_t mng_cfg_metrics(const struct mng_cfg *c, const char *names[MNG_CFG_METRICS]);
/* Checks beyond the table; for struct prog. */
int mng_cfg_check(const void *cfg, struct err *e);

#endif
