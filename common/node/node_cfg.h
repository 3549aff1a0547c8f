/* node_cfg.h: the part of a configuration that every node has: who it is, where it listens, whom
 * it dials, its journal. It is the first member of the program's struct. */
#ifndef SEGQ_NODE_CFG_H
#define SEGQ_NODE_CFG_H

#include "common/config/cfg.h"
#include "common/config/cfg_check.h"

struct node_cfg {
    char *node, *listen, *advertise, *admin, *secret_file, *log_file;
    struct cfg_list managers; /* a list of char * */
    bool create_keys;
    char *journal_dir;
    int journal;              /* enum journal_mode */
    int64_t journal_snapshot; /* bytes */
    int64_t heartbeat_ms;
    int log_level; /* enum log_level */
};

extern const char *const node_journal_modes[]; /* by enum journal_mode, NULL-ended */

/* Rows of the program's table. port, admin_port: defaults, as text; peers: who dials it; changes:
 * what is written (plural). */
#define NODE_KEY(name) .key = #name, .offset = offsetof(struct node_cfg, name)
#define NODE_KEYS(name, port, admin_port, peers)                                               \
    { NODE_KEY(node), .type = CFG_STR, .def = name, .min = 1, .max = NAME_MAX_LEN,             \
      .help = "name of this node (letters, digits, . _ -); unique, and the same after "        \
              "each restart" },                                                                \
    { NODE_KEY(listen), .type = CFG_ADDR, .def = "127.0.0.1:" port,                            \
      .help = "address for " peers },                                                          \
    { NODE_KEY(advertise), .type = CFG_ADDR, .def = "",                                        \
      .help = "address at which they can dial this node; \"\" = listen, as bound" },           \
    { NODE_KEY(admin), .type = CFG_ADDR, .def = "127.0.0.1:" admin_port,                       \
      .help = "address of /metrics and /healthz, for operators" },                             \
    CFG_MANAGERS_KEY(struct node_cfg),                                                         \
    CFG_SECRET_KEY(struct node_cfg)
#define NODE_JOURNAL_KEYS(changes)                                                             \
    { NODE_KEY(journal), .type = CFG_ENUM, .def = "os", .words = node_journal_modes,           \
      .help = "what survives a restart: off: nothing; os: " changes " are written before "     \
              "they are answered; fsync: " changes " are on the disk before they are "         \
              "answered" },                                                                    \
    { NODE_KEY(journal_dir), .type = CFG_STR, .def = "journal", .min = 1, .max = 400,          \
      .help = "folder of the journals; each node uses the subfolder of its name" },            \
    { NODE_KEY(journal_snapshot), .type = CFG_BYTES, .def = "64m", .min = 512,                 \
      .max = 1ll << 40,                                                                        \
      .help = "bytes written after which the journal becomes a new snapshot; less: "           \
              "shorter restarts, more writing" }
#define NODE_LAST_KEYS                                                                         \
    { .key = "heartbeat", .offset = offsetof(struct node_cfg, heartbeat_ms), .type = CFG_MS,   \
      .def = "1s", .min = 50, .max = 60000,                                                    \
      .help = "interval of heartbeats on internal links; a peer silent for three of them "     \
              "is gone" },                                                                     \
    CFG_LOG_KEYS(struct node_cfg),                                                             \
    { .key = NULL }

/* Checks between keys. cfg: it begins with struct node_cfg. */
SQ_CHECK int node_cfg_check(const void *cfg, struct err *e);

#endif
