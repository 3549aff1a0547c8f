/* cluster_try.h: asks the child program whether it would start with what it is to be given. Shell. */
#ifndef SEGQ_CLUSTER_TRY_H
#define SEGQ_CLUSTER_TRY_H

#include "common/base/err.h"
#include "common/supervisor/cluster.h"

/* The path of the child program: that of the key `program`, or the one beside this program. */
SQ_CHECK int cluster_program(const struct cluster_kind *k, const struct cluster_cfg *c, char *path,
                             size_t cap, struct err *e);
/* Runs `PROGRAM ... -t` as child 0 would be started (the others differ in name and ports). SQ_EINVAL
 * with the child's own sentence; SQ_ESYS: it cannot be run; SQ_ETIMEOUT: it has not ended within 10 s. */
SQ_CHECK int cluster_try(const struct cluster_kind *k, const struct cluster_cfg *c, struct err *e);

#endif
