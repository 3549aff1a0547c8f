/* own_load.h: what this process uses, as the kernel says it. Shell. */
#ifndef SEGQ_OWN_LOAD_H
#define SEGQ_OWN_LOAD_H

#include "common/base/base.h"

#define LOAD_EVERY_MS 2000

struct own_load { /* zero at first */
    msec_t looked_ms;
    double cpu_s; /* then */
    int64_t started_ms;
};

struct own_figures {
    uint32_t cpu_permille; /* use of one core, since the last look; at the first one 0 */
    uint64_t rss_bytes;    /* 0: not known */
    int64_t started_ms;    /* Unix ms */
    const char *version;   /* constant */
};

struct own_figures own_load_look(struct own_load *l, msec_t now_ms, int64_t wall_ms);

#endif
