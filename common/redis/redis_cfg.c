#include "common/redis/redis_cfg.h"

#include <sodium.h>

#include "common/ticket/keys.h"

int redis_opts_of(struct redis_opts *o, const struct cfg_redis *c, char *password, size_t cap,
                  struct err *e)
{
    *o = (struct redis_opts){ .addr = c->servers.v,
                              .n_addrs = c->servers.n,
                              .sentinel = c->sentinels.v,
                              .n_sentinels = c->sentinels.n,
                              .master = c->master_name,
                              .user = c->user,
                              .password = password,
                              .db = (int)c->db,
                              .connect_ms = (uint32_t)c->timeout_ms,
                              .answer_ms = (uint32_t)c->timeout_ms };
    randombytes_buf(&o->seed, sizeof(o->seed));
    password[0] = 0;
    return c->password_file[0] != 0 ? keys_password(password, cap, c->password_file, e) : 0;
}

void redis_fault_metrics(struct buf *b, const uint64_t fault[REDIS_NFAULTS])
{
    metrics_head(b, "segq_redis_errors_total", METRIC_COUNTER, "Faults of Redis, by kind");
    for (unsigned i = REDIS_NONE + 1; i < REDIS_NFAULTS; i++) {
        const char *labels[] = { "kind", redis_fault_name((enum redis_fault)i), NULL };

        metrics_u64(b, "segq_redis_errors_total", labels, fault[i]);
    }
}
