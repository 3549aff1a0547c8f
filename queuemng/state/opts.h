/* opts.h: what a manager is made with, and what it counts. */
#ifndef SEGQ_QUEUEMNG_STATE_OPTS_H
#define SEGQ_QUEUEMNG_STATE_OPTS_H

#include "common/base/base.h"
#include "common/ticket/draw.h"

#define MNG_METRICS_MAX 32 /* monitors */

struct mng_opts {
    uint32_t tick_ms;        /* tick of the release controller; 0 = 100 */
    uint32_t lost_after_ms;  /* a silent node's segments are given up; 0 = 30 s */
    uint32_t skip_after_ms;  /* releases skip an unreachable head; 0 = 5 s */
    uint32_t forget_after_ms; /* a drained node that is gone is forgotten; 0 = 5 min */
    uint32_t undo_ms;        /* a deleted queue can be restored; 0 = 10 min */
    const char *issuer;      /* "iss" of passes; NULL = "segq" */
    uint64_t seed;
    uint8_t secret[DRAW_SEED]; /* random; seeds of draws are made from it */
};

struct mng_counts {
    uint64_t epoch, map_version, queues, segments, nodes_up, nodes_foreign, routers_up;
    uint64_t opened, removed, moves_started, moves_committed, moves_aborted;
    uint64_t lost_segments, rebuilt;
    uint64_t credits, entered; /* numbers given, and used */
    uint64_t released, pops_sent, pops_skipped, monitor_failures, maps_sent;
};

#endif
