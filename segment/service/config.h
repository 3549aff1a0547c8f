/* config.h: what a segment node can be told. */
#ifndef SEGQ_SEG_CFG_H
#define SEGQ_SEG_CFG_H

#include "common/config/cfg.h"

struct seg_cfg {
    char *node, *listen, *advertise, *admin, *secret_file, *pass_key_file, *log_file;
    char *journal_dir;
    int journal; /* enum journal_mode */
    struct cfg_list managers; /* of char * */
    char *audit_dir;   /* "": none */
    int audit_subject; /* enum audit_subject */
    int64_t audit_keep_days, audit_buffer;
    bool create_keys;
    int64_t journal_snapshot; /* bytes */
    int64_t max_tickets, max_segments, heartbeat_ms;
    int log_level; /* enum log_level */
};

extern const struct cfg_key seg_cfg_keys[];
/* Checks between keys. cfg: struct seg_cfg. */
SQ_CHECK int seg_cfg_check(const void *cfg, struct err *e);

#endif
