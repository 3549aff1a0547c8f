/* state.h: the state of the segment process: its links, its table, what it counts. Data only.
 *
 *   service.c  start, ticks, the end of a turn, stop
 *   frames.c   incoming messages
 *   push.c     the replica's way out
 *   peers.c    links to other segment nodes
 *   step.c     one step of the table
 *   trace.c    an operator asks about a ticket
 *   journal.c  what must not be forgotten
 *   metrics.c  the page for Prometheus */
#ifndef SEGQ_SEG_SERVICE_STATE_H
#define SEGQ_SEG_SERVICE_STATE_H

#include "common/base/buf.h"
#include "common/node/node_peers.h"
#include "common/ticket/pass.h"
#include "segment/audit/audit.h"
#include "segment/node/segtab.h"
#include "segment/service/journal.h"
#include "segment/service/passes.h"

#define SEG_WANTED_MAX (MSG_MEMBERS_MAX + 64) /* links to other segment nodes */

struct seg_shell_counts { /* ever; for metrics */
    uint64_t batches;      /* frames of polls, joins, leaves */
    uint64_t replica_bytes; /* pushed to routers, with heads of frames */
    uint64_t late_ticks;   /* more than a second after the one before */
};

struct seg_service {
    struct node node;             /* owned, like all below */
    struct segtab *tab;
    struct seg_journal *journal;  /* NULL: switched off */
    struct audit *audit;          /* NULL: none */
    struct seg_passes *passes;
    uint64_t max_tickets;         /* bound with which the table is made, and made anew */
    uint32_t max_segments;
    uint8_t pass_pub[32];
    struct pass_others pass_others;
    struct ev_timer *tick;
    struct node_dials dials;      /* to other segment nodes */
    struct node_want *wanted;     /* SEG_WANTED_MAX */
    struct msg pushed;            /* the last frame in node.out for many routers, */
    struct buf body;              /* and its bytes */
    union {                       /* answers to the batch at hand */
        struct place_ans place[MSG_BATCH_MAX];
        struct append_ans append[MSG_BATCH_MAX];
        struct drop_ans drop[MSG_BATCH_MAX];
        struct sess_ans session[MSG_BATCH_MAX];
    } ans;
    struct seg_shell_counts n;
    msec_t ticked_ms;
    bool look_at_wanted;          /* segtab was stepped in this turn */
};

#endif
