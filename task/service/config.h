/* config.h: what a task node can be told. */
#ifndef SEGQ_TASK_CFG_H
#define SEGQ_TASK_CFG_H

#include "common/config/cfg.h"

struct task_cfg {
    char *node, *listen, *advertise, *admin, *secret_file, *log_file;
    char *journal_dir, *bodies_dir;
    int journal; /* enum journal_mode */
    struct cfg_list managers; /* of char * */
    bool create_keys;
    int64_t journal_snapshot; /* bytes */
    int64_t max_tasks, max_keys, heartbeat_ms;
    int log_level; /* enum log_level */
};

extern const struct cfg_key task_cfg_keys[];
/* Checks between keys. cfg: struct task_cfg. */
SQ_CHECK int task_cfg_check(const void *cfg, struct err *e);

#endif
