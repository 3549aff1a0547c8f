/* service.h: a segment node: segtab (the brain) between its links. Shell.
 *
 *   routers ---\                        /--- queuemng (dialled, all of them)
 *               >--- rpc --- segtab ---<
 *   segments --/   (listen)             \--- segments (dialled while a move wants them)
 *
 * Batches of routers are answered inside the turn that read them, in one write per router.
 * Everything else is one segtab_step(), whose outbox is sent before anything else happens.
 *
 * Failures, and what follows (of links: node.h):
 *   all managers unreachable        polls, joins and leaves go on; nothing is released
 *   what was done cannot be kept    the turn's answers are not sent; journal.h
 *   the journal cannot be read      the process does not start, and says why */
#ifndef SEGQ_SEG_SERVICE_SERVICE_H
#define SEGQ_SEG_SERVICE_SERVICE_H

#include "common/base/buf.h"
#include "common/node/node.h"
#include "common/node/node_peers.h"
#include "common/ticket/pass.h"
#include "segment/audit/audit.h"
#include "segment/node/segtab.h"
#include "segment/service/journal.h"
#include "segment/tickets/passes.h"

/* The state of the segment process, and its messages in and out: batches of routers are
 * answered at once, the rest is a step of the table, and what that wants said is sent before
 * anything else happens.
 *
 * An operator asks about a ticket (common/wire/msg_segment_manager.h):
 *
 *   WHY --> what is known now --> WHY_ANS (more)
 *       --> the trail's thread looks through its files --a tick later--> WHY_ANS (lines)
 *
 * A manager that is gone by then gets nothing: it does not know the question any more. */

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
        struct contact_ans contact[MSG_BATCH_MAX];
    } ans;
    struct seg_shell_counts n;
    msec_t ticked_ms;
    bool look_at_wanted;          /* segtab was stepped in this turn */
};

/* The turn's clocks. */
struct seg_now seg_now(const struct seg_service *s);
/* No room for so many tickets more. */
bool seg_full(struct seg_service *s, uint64_t n);
/* `in` without its time. Its outbox is sent. */
void seg_step(struct seg_service *s, struct segtab_in in);
/* node_kind.msg; service: struct seg_service. */
void seg_msg(void *service, struct node_peer *p, const struct msg *m, uint64_t rid);

struct seg_cfg { /* the configuration of a segment node */
    struct node_cfg node; /* first: node_cfg_check() */
    char *pass_key_file;
    char *audit_dir;   /* "": none */
    int audit_subject; /* enum audit_subject */
    int64_t audit_keep_days, audit_buffer;
    int64_t max_tickets, max_segments;
};

extern const struct cfg_key seg_cfg_keys[];

struct seg_service_opts {
    const struct seg_cfg *cfg;         /* read during seg_service_new() only */
    const struct pass_key *pass;       /* ref, must outlive */
    struct node_opts node;
};

/* Listens and dials. */
SQ_CHECK int seg_service_new(struct seg_service **out, struct ev *ev,
                             const struct seg_service_opts *o, struct err *e);
/* Not from inside a callback. */
void seg_service_free(struct seg_service *s);
/* Accepts nobody new, answers what is on its way, then calls node_opts.on_gone. */
void seg_service_stop(struct seg_service *s);
void seg_service_reload(struct seg_service *s, const struct seg_cfg *c);

#endif
