/* cfg_check.h: rows of configuration tables that several programs have, and what their
 * values must be beyond a type. Pure.
 * T is the program's struct; its members carry the keys' names. */
#ifndef SEGQ_CFG_CHECK_H
#define SEGQ_CFG_CHECK_H

#include "common/base/err.h"
#include "common/config/cfg_key.h"

/* enum log_level by its words, NULL-ended. */
extern const char *const cfg_log_levels[];

#define CFG_LOG_KEYS(T)                                                                  \
    { .key = "log_level", .offset = offsetof(T, log_level), .type = CFG_ENUM,            \
      .def = "info", .words = cfg_log_levels, .reload = true,                            \
      .help = "least important lines to write" },                                        \
    { .key = "log_file", .offset = offsetof(T, log_file), .type = CFG_STR, .def = "",    \
      .max = 4000, .help = "path of the log; \"\" = standard error; opened again at HUP" }

#define CFG_SECRET_KEY(T)                                                                \
    { .key = "secret_file", .offset = offsetof(T, secret_file), .type = CFG_STR,         \
      .def = "cluster.secret", .min = 1, .max = 4000,                                    \
      .help = "file with the cluster's secret, the same on every machine" }

#define CFG_MANAGERS_KEY(T)                                                              \
    { .key = "managers", .offset = offsetof(T, managers), .type = CFG_STRS,              \
      .def = "127.0.0.1:7070", .min = 1, .max = 16,                                      \
      .help = "addresses of queuemng, all of them" }

/* T has members char *region, *zone. */
#define CFG_PLACE_KEYS(T)                                                                \
    { .key = "region", .offset = offsetof(T, region), .type = CFG_NAME, .def = "",       \
      .help = "part of the world in which this process runs, like eu: shown beside its " \
              "name, and new segments go where most people join; \"\" = not said" },                                                 \
    { .key = "zone", .offset = offsetof(T, zone), .type = CFG_NAME, .def = "",           \
      .help = "data centre or rack in the region, like eu-1a: shown; \"\" = not said" }

/* Each: 0, or SQ_EINVAL and a sentence that begins with the key. */
SQ_CHECK int cfg_node_check(const char *name, struct err *e); /* the key `node` */
/* An address that others can be told, or that we dial: a host, and a port that is not 0. */
SQ_CHECK int cfg_dial_check(const char *key, const char *addr, struct err *e);
SQ_CHECK int cfg_dials_check(const char *key, const struct cfg_list *l, struct err *e);
/* Each is an address, or a network in CIDR notation. */
#define CFG_NETS_MAX 64 /* the most in such a list */
SQ_CHECK int cfg_nets_check(const char *key, const struct cfg_list *l, struct err *e);
/* A process cannot listen twice on a port. */
SQ_CHECK int cfg_apart_check(const char *key, const char *addr, const char *other_key,
                             const char *other, struct err *e);
/* A node that peers dial, at `advertise` or, where that is "", at `listen`. */
SQ_CHECK int cfg_advertise_check(const char *listen, const char *advertise, struct err *e);
bool cfg_addr_any(const char *addr); /* for a listener: all addresses of the machine */

/* ---- encryption of internal links (common/net/tls.h) ---- */

enum tls_mode {
    TLS_OFF,    /* plain TCP alone */
    TLS_ACCEPT, /* either: dials with TLS first, and without if that is not understood */
    TLS_REQUIRE
};

struct cfg_tls {
    int mode; /* enum tls_mode */
    char *cert, *key, *ca, *name;
};

extern const char *const cfg_tls_modes[]; /* by enum tls_mode, NULL-ended */

/* T: the program's struct, with a member `tls`. */
#define CFG_TLS_AT(T, member) .offset = offsetof(T, tls.member)
#define CFG_TLS_KEYS(T)                                                                        \
    { .key = "tls", CFG_TLS_AT(T, mode), .type = CFG_ENUM, .def = "require",                   \
      .words = cfg_tls_modes,                                                                  \
      .help = "encryption of internal links (TLS 1.3): require; accept: also peers without, "  \
              "while a cluster is changed; off" },                                             \
    { .key = "tls_cert", CFG_TLS_AT(T, cert), .type = CFG_STR, .def = "", .max = 4000,         \
      .reload = true,                                                                          \
      .help = "file with this process's certificate and those between it and tls_ca, in PEM "  \
              "form; \"\" = a key that comes from the cluster's secret" },                     \
    { .key = "tls_key", CFG_TLS_AT(T, key), .type = CFG_STR, .def = "", .max = 4000,           \
      .reload = true, .help = "file (mode 0600) with its private key, in PEM form" },          \
    { .key = "tls_ca", CFG_TLS_AT(T, ca), .type = CFG_STR, .def = "", .max = 4000,             \
      .reload = true,                                                                          \
      .help = "file with the certificates of the authorities that sign those of peers" },      \
    { .key = "tls_peer_name", CFG_TLS_AT(T, name), .type = CFG_STR, .def = "", .max = 253,     \
      .reload = true,                                                                          \
      .help = "DNS name that must be in the certificate of who dials this process; \"\" = "    \
              "any that tls_ca has signed" }

/* 0, or SQ_EINVAL and a sentence that begins with the key: the files belong together. */
SQ_CHECK int cfg_tls_check(const struct cfg_tls *c, struct err *e);

/* ---- certificates of ports that speak HTTP (common/net/tls_server.h) ---- */

struct cfg_cert {
    char *cert, *key; /* files */
};

static inline bool cfg_has_cert(const struct cfg_cert *c)
{
    return c->cert[0] != '\0';
}

#define CFG_HSTS_MAX_MS 6.3072e10 /* two years: what browsers ask of hosts in their own lists */

/* T: the program's struct, with a member `admin_tls`. */
#define CFG_ADMIN_TLS_KEYS(T)                                                                  \
    { .key = "admin_cert", .offset = offsetof(T, admin_tls.cert), .type = CFG_STR, .def = "",  \
      .max = 4000, .reload = true,                                                             \
      .help = "file with the certificate of the admin port and those between it and its "      \
              "authority, in PEM form: the port speaks https alone; \"\" = http" },            \
    { .key = "admin_key", .offset = offsetof(T, admin_tls.key), .type = CFG_STR, .def = "",    \
      .max = 4000, .reload = true,                                                             \
      .help = "file (mode 0600) with its private key, in PEM form" }

/* The same: both or neither. */
SQ_CHECK int cfg_admin_tls_check(const struct cfg_cert *c, struct err *e);

/* ---- where a Redis is, and how it is asked ---- */

struct cfg_redis {
    struct cfg_list servers, sentinels; /* lists of char *; both empty: none */
    char *master_name, *user, *password_file, *prefix;
    int64_t db, timeout_ms, wait_replicas;
    bool tls;
    struct cfg_tls files; /* mode is not used; name: of the server */
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
      .help = "replicas that must confirm a write before " before },                           \
    { .key = "redis_tls", CFG_REDIS_AT(T, tls), .type = CFG_BOOL, .def = "false",              \
      .help = "encryption of the way to Redis and its sentinels (TLS 1.2 or 1.3)" },           \
    { .key = "redis_tls_ca", CFG_REDIS_AT(T, files.ca), .type = CFG_STR, .def = "",            \
      .max = 4000, .reload = true,                                                             \
      .help = "file with the certificates of the authorities that sign that of Redis, in PEM " \
              "form; \"\" = those that the system trusts" },                                   \
    { .key = "redis_tls_cert", CFG_REDIS_AT(T, files.cert), .type = CFG_STR, .def = "",        \
      .max = 4000, .reload = true,                                                             \
      .help = "file with the certificate that Redis is shown, in PEM form; \"\" = none" },     \
    { .key = "redis_tls_key", CFG_REDIS_AT(T, files.key), .type = CFG_STR, .def = "",          \
      .max = 4000, .reload = true,                                                             \
      .help = "file (mode 0600) with its private key, in PEM form" },                          \
    { .key = "redis_tls_name", CFG_REDIS_AT(T, files.name), .type = CFG_STR, .def = "",        \
      .max = 253, .reload = true,                                                              \
      .help = "host name in the certificates of Redis and its sentinels; \"\" = the host that " \
              "is dialled" }

/* 0, or SQ_EINVAL and a sentence that begins with the key. */
SQ_CHECK int cfg_redis_check(const struct cfg_redis *c, struct err *e);

#endif
