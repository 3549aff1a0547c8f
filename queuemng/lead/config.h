/* config.h: the configuration of a queuemng. */
#ifndef SEGQ_MNG_CFG_H
#define SEGQ_MNG_CFG_H

#include "queuemng/monitor/metric_def.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/queue_def.h"

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
    struct cfg_list pools;   /* struct pool_def */
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
/* Checks beyond the table; for struct prog. */
int mng_cfg_check(const void *cfg, struct err *e);

#endif
