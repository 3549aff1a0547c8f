/* proc_read.h: readings from /proc. Shell; /proc does not block. */
#ifndef SEGQ_PROC_READ_H
#define SEGQ_PROC_READ_H

#include "queuemng/monitor/metric_def.h"
#include "queuemng/monitor/proc_parse.h"

#define MON_PROCS_MAX 1024 /* processes of one name that are looked at */

struct mon_known { /* a process at the last reading */
    int pid;
    uint64_t start, ticks;
};
struct mon_proc_state { /* zero = new */
    bool known;
    msec_t at_ms;
    struct mon_cpu cpu;
    struct mon_known *v; /* owned */
    size_t n;
};

/* SQ_EBUSY: the first of two readings that a percentage needs. */
SQ_CHECK int mon_proc_read(struct mon_proc_state *s, const struct metric_def *d, msec_t now_ms,
                           double *value, struct err *e);
void mon_proc_fini(struct mon_proc_state *s);

#endif
