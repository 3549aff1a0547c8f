/* config.h: what a task node can be told. */
#ifndef SEGQ_TASK_CFG_H
#define SEGQ_TASK_CFG_H

#include "common/node/node_cfg.h"

struct task_cfg {
    struct node_cfg node; /* first: node_cfg_check() */
    char *bodies_dir;
    int64_t max_tasks, max_keys;
};

extern const struct cfg_key task_cfg_keys[];

#endif
