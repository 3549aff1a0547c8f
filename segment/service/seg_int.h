/* seg_int.h: what the files of the segment node's shell share. Nobody else includes it.
 *
 *   seg_service.c  life: start, ticks, the end of a turn, stop
 *   seg_peers.c    whom to dial, sending
 *   seg_frames.c   what comes in
 *   seg_why.c      an operator asks about a ticket
 *   seg_journal.c  what must not be forgotten
 *   seg_metrics.c  the page for Prometheus */
#ifndef SEGQ_SEG_INT_H
#define SEGQ_SEG_INT_H

#include "common/http/admin.h"
#include "common/base/list.h"
#include "common/wire/msg.h"
#include "common/wire/outbox.h"
#include "common/net/rpc.h"
#include "segment/audit/audit.h"
#include "segment/service/seg_journal.h"
#include "segment/service/seg_pass.h"
#include "segment/service/seg_service.h"
#include "segment/node/segtab.h"

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
    struct segtab_want want;
};

struct seg_shell_counts { /* ever; for metrics */
    uint64_t batches;      /* frames of polls, joins, leaves */
    uint64_t orders;       /* other frames */
    uint64_t bad_frames;   /* damaged, or not allowed from that peer */
    uint64_t unknown;      /* types */
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
    struct buf body;              /* of the message being sent */
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
    char advertise[64];
    void (*on_ready)(void *ctx);
    void (*on_gone)(void *ctx);
    void *ctx;
};

struct seg_now seg_now(const struct seg_service *s);
/* One step, and its outbox is sent. */
void seg_step(struct seg_service *s, struct segtab_in in);
void seg_become_ready(struct seg_service *s);

extern const struct rpc_calls seg_calls; /* ctx: the service */
SQ_CHECK int seg_peers_dial(struct seg_service *s, const struct cfg_list *managers,
                            struct err *e);
/* Dials what segtab wants, drops what it does not want any more. */
void seg_peers_look(struct seg_service *s);
void seg_peers_free(struct seg_service *s);
/* How long ago a router was heard last; now_ms: there is none. */
msec_t seg_peers_silent_ms(const struct seg_service *s, msec_t now_ms);
void seg_peers_send(struct seg_service *s);
/* Nothing that was said in this turn is sent: all links end, and nobody is connected. */
void seg_peers_take_back(struct seg_service *s);
void seg_peers_error(struct seg_service *s, struct seg_peer *p, const struct frame *f, int code);
/* p stands by; text: address and name of who leads, or "". */
void seg_peers_follow(struct seg_service *s, const struct seg_peer *p, const char *text);

void seg_on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f);
void seg_why(struct seg_service *s, struct seg_peer *p, const struct msg_why *q);
void seg_why_tick(struct seg_service *s);
void seg_metrics(void *ctx, struct buf *b);

#endif
