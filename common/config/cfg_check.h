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

/* Each: 0, or SQ_EINVAL and a sentence that begins with the key. */
SQ_CHECK int cfg_node_check(const char *name, struct err *e); /* the key `node` */
/* An address that others can be told, or that we dial: a host, and a port that is not 0. */
SQ_CHECK int cfg_dial_check(const char *key, const char *addr, struct err *e);
SQ_CHECK int cfg_dials_check(const char *key, const struct cfg_list *l, struct err *e);
/* A process cannot listen twice on a port. */
SQ_CHECK int cfg_apart_check(const char *key, const char *addr, const char *other_key,
                             const char *other, struct err *e);
/* A node that peers dial, at `advertise` or, where that is "", at `listen`. */
SQ_CHECK int cfg_advertise_check(const char *listen, const char *advertise, struct err *e);
bool cfg_addr_any(const char *addr); /* for a listener: all addresses of the machine */

#endif
