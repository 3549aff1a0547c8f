/* cluster_args.h: the command line of a child. Pure. */
#ifndef SEGQ_CLUSTER_ARGS_H
#define SEGQ_CLUSTER_ARGS_H

#include "common/base/err.h"
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

#endif
