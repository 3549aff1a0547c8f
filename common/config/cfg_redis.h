/* cfg_redis.h: the rows of a configuration that say where a Redis is, and how it is asked. Pure. */
#ifndef SEGQ_CFG_REDIS_H
#define SEGQ_CFG_REDIS_H

#include "common/base/err.h"
#include "common/config/cfg_key.h"

struct cfg_redis {
    struct cfg_list servers, sentinels; /* lists of char *; both empty: none */
    char *master_name, *user, *password_file, *prefix;
    int64_t db, timeout_ms, wait_replicas;
};

static inline bool cfg_has_redis(const struct cfg_redis *c)
{
    return c->servers.n + c->sentinels.n != 0;
}

/* T: the program's struct, with a member `redis`. use: what the servers are for; most: of the
 * timeout; before: what waits for replicas. */
#define CFG_REDIS_AT(T, member) .offset = offsetof(T, redis.member)
#define CFG_REDIS_KEYS(T, use, most, before)                                                   \
    { .key = "redis", CFG_REDIS_AT(T, servers), .type = CFG_STRS, .def = "", .min = 0,         \
      .max = 16, .help = "Redis servers, host:port or /socket, tried in turn; " use },         \
    { .key = "redis_sentinels", CFG_REDIS_AT(T, sentinels), .type = CFG_STRS, .def = "",       \
      .min = 0, .max = 16,                                                                     \
      .help = "sentinels, host:port, that name the master; in place of redis" },               \
    { .key = "redis_master_name", CFG_REDIS_AT(T, master_name), .type = CFG_STR,               \
      .def = "mymaster", .min = 1, .max = 64, .help = "name of the master at the sentinels" }, \
    { .key = "redis_user", CFG_REDIS_AT(T, user), .type = CFG_STR, .def = "", .max = 100,      \
      .help = "user at Redis; \"\" = the default user" },                                      \
    { .key = "redis_password_file", CFG_REDIS_AT(T, password_file), .type = CFG_STR,           \
      .def = "", .max = 4000,                                                                  \
      .help = "file with the password, mode 0600; \"\" = no password" },                       \
    { .key = "redis_db", CFG_REDIS_AT(T, db), .type = CFG_INT, .def = "0", .min = 0,           \
      .max = 1000, .help = "number of the database" },                                         \
    { .key = "redis_prefix", CFG_REDIS_AT(T, prefix), .type = CFG_NAME, .def = "segq",         \
      .help = "prefix of the keys in Redis; each cluster has its own" },                       \
    { .key = "redis_timeout", CFG_REDIS_AT(T, timeout_ms), .type = CFG_MS, .def = "500ms",     \
      .min = 10, .max = 20000,                                                                 \
      .help = "longest time to connect, and to wait for an answer" most },                     \
    { .key = "redis_wait_replicas", CFG_REDIS_AT(T, wait_replicas), .type = CFG_INT,           \
      .def = "0", .min = 0, .max = 10,                                                         \
      .help = "replicas that must confirm a write before " before }

/* 0, or SQ_EINVAL and a sentence that begins with the key. */
SQ_CHECK int cfg_redis_check(const struct cfg_redis *c, struct err *e);

#endif
