/* cluster_status.h: the status file of a supervisor. Shell. */
#ifndef SEGQ_CLUSTER_STATUS_H
#define SEGQ_CLUSTER_STATUS_H

#include "common/base/base.h"
#include "common/base/err.h"

struct cluster_entry { /* a child */
    char name[NAME_MAX_LEN + 12];
    char state[20];
    int64_t pid;         /* 0: none */
    uint64_t start_ticks;
    uint64_t restarts;
    uint64_t args_hash;  /* with the identity of the program's file */
    int64_t since_s;     /* Unix time of the last change of state */
    char listen[80], admin[80];
};
struct cluster_status {
    char name[NAME_MAX_LEN + 1];
    int64_t pid;         /* pid of the supervisor */
    struct cluster_entry *v; /* owned */
    size_t n;
};
SQ_CHECK int cluster_status_write(const char *path, const struct cluster_status *s,
                                  struct err *e);
/* A missing file, or one of an earlier boot, is an empty status. */
SQ_CHECK int cluster_status_read(const char *path, struct cluster_status *s,
                                 struct err *e);

#endif
