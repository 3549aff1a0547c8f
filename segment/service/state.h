/* state.h: the state of the segment process: its channels, its table, what it counts. Data only.
 *
 *   service.c  start, ticks, the end of a turn, stop
 *   peers.c    channels that come and go, dialling
 *   frames.c   incoming messages
 *   step.c     one step of the table
 *   send.c     outgoing messages
 *   trace.c    an operator asks about a ticket
 *   journal.c  what must not be forgotten
 *   metrics.c  the page for Prometheus */
#ifndef SEGQ_SEG_STATE_H
#define SEGQ_SEG_STATE_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/list.h"
#include "common/http/admin.h"
#include "common/net/rpc.h"
#include "common/ticket/pass.h"
#include "common/wire/msg.h"
#include "common/wire/outbox.h"
#include "segment/audit/audit.h"
#include "segment/node/segtab.h"
#include "segment/service/journal.h"
#include "segment/service/passes.h"

#define SEG_TICK_MS    100
#define SEG_MANAGERS   16
#define SEG_WANTED_MAX (MSG_MEMBERS_MAX + 64) /* links to other segment nodes */

struct seg_peer { /* a live channel; its data */
    struct list_node node; /* seg_service.peers */
    peer_no no;
    struct rpc_chan *ch; /* ref */
    enum rpc_role role;
};

struct seg_dial { /* a link to another segment node that segtab wants */
    struct list_node node; /* seg_service.dials */
    struct seg_service *s; /* ref */
    struct rpc_link *link; /* owned */
    struct rpc_chan *ch;   /* ref; from its up to its down, also while it is closing */
    struct segtab_want want;
};

struct seg_shell_counts { /* ever; for metrics */
    uint64_t batches;      /* frames of polls, joins, leaves */
    uint64_t orders;       /* other frames */
    uint64_t bad_frames;   /* damaged, or not allowed from that peer */
    uint64_t unknown;      /* types */
    uint64_t replica_bytes; /* pushed to routers, with heads of frames */
    uint64_t unsent;       /* outgoing messages that were dropped */
    uint64_t late_ticks;   /* more than a second after the one before */
};

struct seg_service {
    struct ev *ev;                /* ref */
    struct rpc *rpc;              /* owned, like all below */
    struct admin *admin;
    struct segtab *tab;
    struct seg_journal *journal;  /* NULL: switched off */
    struct audit *audit;          /* NULL: none */
    struct seg_passes *passes;
    uint64_t max_tickets;         /* as the table is made, and made anew */
    uint32_t max_segments;
    uint8_t pass_pub[32];
    struct pass_others pass_others;
    struct ev_timer *tick, *gone;
    struct rpc_link *manager[SEG_MANAGERS];
    size_t n_managers;
    struct list peers, dials;
    struct segtab_want *wanted;   /* two of SEG_WANTED_MAX: as last dialled, and now */
    size_t n_wanted;              /* of the former; SIZE_MAX: look in any case */
    peer_no last_peer;
    struct arena mem;             /* of the frame at hand */
    struct outbox out;
    struct msg pushed;            /* the last frame in `out` for many routers, */
    struct buf body;              /* and its bytes */
    union {                       /* answers to the batch at hand */
        struct place_ans place[MSG_BATCH_MAX];
        struct append_ans append[MSG_BATCH_MAX];
        struct drop_ans drop[MSG_BATCH_MAX];
        struct sess_ans session[MSG_BATCH_MAX];
    } ans;
    struct seg_shell_counts n;
    msec_t started_ms, ticked_ms;
    bool ready, stopping;
    bool look_at_wanted;          /* segtab was stepped in this turn */
    struct {                      /* by a standby manager, in this turn; "" = nothing */
        char addr[64], name[NAME_MAX_LEN + 1];
    } told_leader;
    char advertise[64];
    void (*on_ready)(void *ctx);
    void (*on_gone)(void *ctx);
    void *ctx;
};

/* Loops; the current one may be removed and freed. */
#define each_peer(s, p) list_each_of(&(s)->peers, struct seg_peer, node, p)
#define each_dial(s, d) list_each_of(&(s)->dials, struct seg_dial, node, d)

#endif
