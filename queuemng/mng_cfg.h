/* mng_cfg.h: what a queuemng can be told. */
#ifndef SEGQ_MNG_CFG_H
#define SEGQ_MNG_CFG_H

#include "queuemng/queue_def.h"

enum metric_source { METRIC_PROC, METRIC_PROMETHEUS, METRIC_PAGE };
enum metric_what { METRIC_CPU, METRIC_MEMORY };
enum metric_several { METRIC_SUM, METRIC_MAX };

struct metric_def { /* one thing to watch; limits of queues refer to its name */
    char *name;
    int kind;             /* enum metric_source */
    int what;             /* proc: enum metric_what */
    char *pid_file;       /* proc: of one process; "" = see process */
    char *process;        /* proc: all processes of this name; "" = the whole machine */
    char *url;            /* prometheus: base of its API; page: the page */
    char *query;          /* prometheus: PromQL; page: the name of the sample */
    char *labels;         /* page: "name=value,..." that the sample must have */
    int several;          /* page: of several samples (enum metric_several) */
    bool counter_rate;    /* it is a counter: take its growth per second */
    double max;           /* a greater value is absurd */
    int64_t interval_ms, timeout_ms;
    int64_t stale_ms;     /* how long the last value holds while polls fail */
};

struct mng_cfg {
    char *node, *listen, *admin;
    char *advertise, *advertise_admin; /* "" = as bound */
    char *secret_file, *admin_token_file, *data_dir;
    bool create_keys;
    char *issuer;
    int64_t tick_ms, lost_after_ms, forget_after_ms, skip_after_ms, heartbeat_ms;
    struct cfg_list redis, redis_sentinels; /* of char *; both empty: the local file */
    char *redis_master_name, *redis_user, *redis_password_file, *redis_prefix;
    int64_t redis_db, redis_timeout_ms, redis_wait_replicas, lease_ms;
    struct cfg_list metrics; /* struct metric_def */
    struct cfg_list queues;  /* struct queue_def */
    int log_level;           /* enum log_level */
    char *log_file;
};

extern const struct cfg_key mng_keys[];
static inline bool mng_cfg_has_redis(const struct mng_cfg *c)
{
    return c->redis.n + c->redis_sentinels.n != 0;
}
#define MNG_CFG_METRICS 32
/* Their names, refs into c; how many. */
size_t mng_cfg_metrics(const struct mng_cfg *c, const char *names[MNG_CFG_METRICS]);
/* What the table cannot say; for struct prog. */
int mng_cfg_check(const void *cfg, struct err *e);

#endif
