/* config.h: what a task node can be told. */
#ifndef SEGQ_TASK_CFG_H
#define SEGQ_TASK_CFG_H

#include "common/config/cfg_check.h"
#include "common/node/node.h"

#define PUBLIC_URL_MAX 400
#define METRICS_QUEUES_MAX 100

enum task_kept { STORE_JOURNAL, STORE_REDIS };

struct task_cfg {
    struct node_cfg node; /* first: node_cfg_check() */
    int store;            /* enum task_kept */
    struct cfg_redis redis;
    char *bodies_dir;
    char *answers_dir; /* "": in bodies_dir */
    char *archive_dir; /* "": none */
    char *public_url;  /* "": not known */
    struct cfg_list pass_headers; /* list of char * */
    int64_t max_tasks, max_keys, archive_keep_days, archive_buffer;
    int64_t answers_max_bytes, large_bodies_max_bytes, metrics_busiest;
    struct cfg_list metrics_queues; /* list of char * */
};

extern const struct cfg_key task_cfg_keys[];
/* Checks between keys. cfg: struct task_cfg. */
SQ_CHECK int task_cfg_check(const void *cfg, struct err *e);

#endif
