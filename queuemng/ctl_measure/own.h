/* own.h: a cluster of one router, one segment node and one queuemng, for a measurement: in a folder
 * of its own, on free ports of 127.0.0.1; its processes die with this one. Shell.
 *
 * Its queues: `line`, which lets nobody in, and `door`, which lets in whoever joins. */
#ifndef SEGQ_CTL_MEASURE_OWN_H
#define SEGQ_CTL_MEASURE_OWN_H

#include <sys/types.h>

#include "common/base/err.h"

#define OWN_DIR_MAX 240

enum own_proc { OWN_MANAGER, OWN_NODE, OWN_ROUTER, OWN_PROCS };

struct own {
    char dir[OWN_DIR_MAX];     /* "": none */
    pid_t pid[OWN_PROCS];      /* 0: none */
    uint16_t port[2 * OWN_PROCS]; /* each one's, and its admin port */
};

/* They run, and answer as soon as they can. own_down() also after an error. */
SQ_CHECK int own_up(struct own *o, struct err *e);
/* SQ_EGONE and the end of its log: one of them has ended. */
SQ_CHECK int own_runs(const struct own *o, struct err *e);
double own_cpu_s(const struct own *o, enum own_proc which); /* used by then */
void own_down(struct own *o);

#endif
