/* out.h: what passes between the manager and its shell: the options that it is made with, what it
 * counts, and the output of each step: records to store or delete, messages to send.
 *
 * Stores and deletes are noted in the order in which they are decided; out_sends() puts all
 * messages behind them, so that nothing is sent that depends on what is not stored yet. Texts
 * live in the outbox's arena until the next mng_out_reset(). Without memory box.failed is set,
 * and the whole step counts for nothing. */
#ifndef SEGQ_QUEUEMNG_STATE_OUT_H
#define SEGQ_QUEUEMNG_STATE_OUT_H

#include "common/recur/recur.h"
#include "common/ticket/draw.h"
#include "common/wire/msg.h"

struct json_t;
struct mlane;
struct mng;
struct mnode;
struct msg;

#define MNG_METRICS_MAX 32 /* monitors */

struct mng_opts {
    uint32_t tick_ms;        /* tick of the release controller; 0 = 100 */
    uint32_t lost_after_ms;  /* a silent node's segments are given up; 0 = 30 s */
    uint32_t skip_after_ms;  /* releases skip an unreachable head; 0 = 5 s */
    uint32_t forget_after_ms; /* a drained node that is gone is forgotten; 0 = 5 min */
    uint32_t undo_ms;        /* a deleted queue can be restored; 0 = 10 min */
    const struct zones *zones; /* ref; NULL: only UTC is known */
    const char *issuer;      /* "iss" of passes; NULL = "segq" */
    uint64_t seed;
    uint8_t secret[DRAW_SEED]; /* random; seeds of draws are made from it */
};

struct mng_counts {
    uint64_t epoch, map_version, queues, segments, nodes_up, nodes_foreign, routers_up;
    uint64_t opened, removed, moves_started, moves_committed, moves_aborted;
    uint64_t lost_segments, rebuilt;
    uint64_t credits, entered; /* numbers given, and used */
    uint64_t released, pops_sent, pops_skipped, monitor_failures, maps_sent, name_failures;
};

enum mng_act_kind { MNG_SEND, MNG_PUT, MNG_DEL };

struct mng_act {
    enum mng_act_kind kind;
    uint32_t item;            /* MNG_SEND: index into out->box.v */
    const char *key;          /* MNG_PUT, MNG_DEL */
    const char *val;          /* MNG_PUT: JSON text */
};

#define MNG_OUT_WHY_MAX 160

struct mng_out {
    struct outbox box;
    char why[MNG_OUT_WHY_MAX]; /* box.failed is set for another reason than memory */
    struct mng_act *act;
    uint32_t n, cap;
};

/* If box.failed is set after a step, there was no memory to note down what the core has
 * decided. Then nothing of that step may be stored or sent, and the core is of no use any
 * more: the shell makes another one from what is stored, as after a restart. */
void mng_out_init(struct mng_out *o);
void mng_out_fini(struct mng_out *o);
void mng_out_reset(struct mng_out *o);
void mng_begin(struct mng *m, msec_t now_ms, struct mng_out *out);
struct msg *mng_to(struct mng *m, peer_no p, enum msg_type t);
/* NULL: no memory, or it has a text that is no UTF-8. */
void out_put_json(struct mng *m, const char *key, struct json_t *j);
void out_del(struct mng *m, const char *key);
void out_sends(struct mng *m);

/* ---- one message for each node --------------------------------------------------------
 * Places ahead, polling intervals, and which releases are stored are collected per node, and sent
 * by batch_send() at the end of the step; rows for a node that is not registered are dropped,
 * since it is told everything when it is. */

/* `ahead` places stand before the segment. */
void batch_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead);
/* The releases of the segment up to this tick are stored. Lost without memory: the
 * node says them again. */
void batch_stored(struct mnode *n, seg_id seg, uint64_t tick);
/* Sends and forgets what was collected for the node. */
void batch_send(struct mng *m, struct mnode *n);
/* A lane's polling interval, as it is now, for one node. */
void batch_lane_pace(struct mng *m, const struct mlane *l, struct mnode *n);

#endif
