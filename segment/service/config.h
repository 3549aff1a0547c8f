/* config.h: what a segment node can be told. */
#ifndef SEGQ_SEG_SERVICE_CONFIG_H
#define SEGQ_SEG_SERVICE_CONFIG_H

#include "common/node/node.h"

struct seg_cfg {
    struct node_cfg node; /* first: node_cfg_check() */
    char *pass_key_file;
    char *audit_dir;   /* "": none */
    int audit_subject; /* enum audit_subject */
    int64_t audit_keep_days, audit_buffer;
    int64_t max_tickets, max_segments;
};

extern const struct cfg_key seg_cfg_keys[];

#endif
