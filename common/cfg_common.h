/* cfg_common.h: rows of configuration tables that several programs have. Pure.
 * T is the program's struct; its members carry the keys' names. */
#ifndef SEGQ_CFG_COMMON_H
#define SEGQ_CFG_COMMON_H

#include "common/cfg.h"

/* enum log_level by its words, NULL-ended. */
extern const char *const cfg_log_levels[];

#define CFG_LOG_KEYS(T)                                                                  \
    { .key = "log_level", .offset = offsetof(T, log_level), .type = CFG_ENUM,            \
      .def = "info", .words = cfg_log_levels, .reload = true,                            \
      .help = "least important lines to write" },                                        \
    { .key = "log_file", .offset = offsetof(T, log_file), .type = CFG_STR, .def = "",    \
      .max = 4000, .help = "\"\" = standard error; opened again at HUP" }

#define CFG_SECRET_KEY(T)                                                                \
    { .key = "secret_file", .offset = offsetof(T, secret_file), .type = CFG_STR,         \
      .def = "cluster.secret", .min = 1, .max = 4000,                                    \
      .help = "the cluster's secret, the same on every machine" }

#define CFG_MANAGERS_KEY(T)                                                              \
    { .key = "managers", .offset = offsetof(T, managers), .type = CFG_STRS,              \
      .def = "127.0.0.1:7070", .min = 1, .max = 16,                                      \
      .help = "addresses of queuemng, all of them" }

#endif
