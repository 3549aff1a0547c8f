/* cluster_args.h: the configuration of a cluster: its table, the command line of a child that follows
 * (pure); and a try of that child. */
#ifndef SEGQ_CLUSTER_ARGS_H
#define SEGQ_CLUSTER_ARGS_H

#include "common/base/err.h"
#include "common/config/cfg_check.h"
#include "common/supervisor/cluster.h"

struct cluster_args { /* arguments of a child */
    char **v;            /* argv, NULL-ended; owned */
    size_t n;
    char *listen, *admin; /* owned; as told to the child */
    uint64_t hash;       /* hash of all of argv */
};
/* path: of the program. NULL-safe to free after any result. */
SQ_CHECK int cluster_args_make(struct cluster_args *a, const struct cluster_cfg *c,
                               const char *path, unsigned i, struct err *e);
void cluster_args_free(struct cluster_args *a);
/* Checks beyond the table: ports that collide or overflow, malformed `set`. */
SQ_CHECK int cluster_check(const struct cluster_kind *k, const struct cluster_cfg *c,
                           struct err *e);

/* The configuration table of all supervisors; they differ in defaults. */
#define CLUSTER_AT(field) .offset = offsetof(struct cluster_cfg, field)

static const char *const cluster_fork_words[] __attribute__((unused)) = {
    "auto", "always", NULL
};
/* clang-format off */
#define CLUSTER_KEYS(NAME, LISTEN, STEP, ADMIN, MANAGERS, FORK)                          \
    { "name", CFG_NAME, CLUSTER_AT(name), .def = NAME,                                   \
      .help = "name of the cluster; child i is the node <name>.<i>" },                   \
    { "children", CFG_INT, CLUSTER_AT(children), .def = "1", .min = 1, .max = 256,       \
      .reload = true, .help = "number of processes" },                                   \
    { "program", CFG_STR, CLUSTER_AT(program), .def = "", .max = 4000, .reload = true,   \
      .help = "path of the child program; \"\" = the one beside this program" },         \
    { "config", CFG_STR, CLUSTER_AT(config), .def = "", .max = 4000, .reload = true,     \
      .help = "configuration file of the children; \"\" = none" },                       \
    { "listen", CFG_ADDR, CLUSTER_AT(listen), .def = LISTEN, .reload = true,             \
      .help = "address of child 0" },                                                    \
    { "port_step", CFG_INT, CLUSTER_AT(port_step), .def = STEP, .min = 0, .max = 1000,   \
      .reload = true,                                                                    \
      .help = "child i listens on port + i * port_step; 0 = all share one port" },       \
    { "admin", CFG_ADDR, CLUSTER_AT(admin), .def = ADMIN, .reload = true,                \
      .help = "admin address of child 0; child i has port + i" },                        \
    { "managers", CFG_STRS, CLUSTER_AT(managers), .def = MANAGERS, .min = 0, .max = 16,  \
      .reload = true, .help = "addresses of queuemng, all of them" },                    \
    { "set", CFG_STRS, CLUSTER_AT(set), .def = "", .min = 0, .max = 100, .reload = true, \
      .help = "list of KEY=VALUE for every child, over its configuration file" },        \
    { "state_dir", CFG_STR, CLUSTER_AT(state_dir), .def = "state", .min = 1,             \
      .max = 4000, .help = "folder of the lock and status files" },                      \
    { "log_dir", CFG_STR, CLUSTER_AT(log_dir), .def = "", .max = 4000, .reload = true,   \
      .help = "children log to <log_dir>/<node>.log; \"\" = to the supervisor's "        \
              "standard error" },                                                        \
    { "grace", CFG_MS, CLUSTER_AT(grace_ms), .def = "30s", .min = 100, .max = 3600000,   \
      .reload = true, .help = "time between TERM and KILL" },                            \
    { "ready_timeout", CFG_MS, CLUSTER_AT(ready_ms), .def = "30s", .min = 100,           \
      .max = 3600000, .reload = true,                                                    \
      .help = "time after which a child that is not ready is restarted" },               \
    { "restart_max", CFG_MS, CLUSTER_AT(restart_max_ms), .def = "10s", .min = 200,       \
      .max = 3600000, .reload = true,                                                    \
      .help = "a child that dies again and again: longest wait before it is started" },  \
    { "fork", CFG_ENUM, CLUSTER_AT(fork), .def = FORK, .words = cluster_fork_words,      \
      .help = "auto: a single child replaces the supervisor; always: children run under "\
              "it" },                                                                    \
    { "log_level", CFG_ENUM, CLUSTER_AT(log_level), .def = "info", .reload = true,       \
      .words = cfg_log_levels, .help = "least important lines to write" },               \
    { "log_file", CFG_STR, CLUSTER_AT(log_file), .def = "", .max = 4000,                 \
      .help = "log of the supervisor; \"\" = standard error" },                          \
    { .key = NULL }
/* clang-format on */

/* The path of the child program: that of the key `program`, or the one beside this program. */
SQ_CHECK int cluster_program(const struct cluster_kind *k, const struct cluster_cfg *c, char *path,
                             size_t cap, struct err *e);
/* Runs `PROGRAM ... -t` as child 0 would be started (the others differ in name and ports).
 * SQ_EINVAL with the child's own sentence; SQ_ESYS: it cannot be run; SQ_ETIMEOUT: it has not ended
 * within 10 s. */
SQ_CHECK int cluster_try(const struct cluster_kind *k, const struct cluster_cfg *c, struct err *e);

#endif
