/* mng_service.h: queuemng: the shell around the manager's core (mng.h). Shell.
 *
 *   routers, segment nodes --rpc--> on_frame -> mng_msg()   -> acts
 *   timer, every tick ------------------------> mng_tick()  -> acts
 *   admin API --------------------------------> mng_queue_put() ... -> acts
 *   monitor ----------------------------------> mng_reading()
 *
 * The acts of a turn are gathered. At its end: all puts into the store, one sync; when
 * they are kept, all sends in order: so nothing is said that a restarted manager, or the
 * next leader, would not know. If the file cannot be written, nothing is sent and the
 * links of those who wait for it are closed: they come back, and are told when the store
 * works again. If Redis does not answer, what waits for it goes with the lease.
 *
 * Files: mng_service.c (start, peers, time, end), mng_acts.c (storing and sending),
 * mng_term.c (beginning and ending to lead), mng_lead.c (the lease). */
#ifndef SEGQ_MNG_SERVICE_H
#define SEGQ_MNG_SERVICE_H

#include "common/http/admin.h"
#include "common/base/arena.h"
#include "common/ticket/keys.h"
#include "common/base/list.h"
#include "common/base/map.h"
#include "common/net/rpc.h"
#include "queuemng/service/events.h"
#include "queuemng/service/history.h"
#include "queuemng/core/mng.h"
#include "queuemng/service/mng_cfg.h"
#include "queuemng/service/mng_lead.h"
#include "queuemng/monitor/monitor.h"
#include "queuemng/service/op_log.h"

struct mng_shell_counts { /* ever */
    uint64_t messages, undecodable, store_failures, steps;
};

struct mng_step { /* of the core: what it wants stored and sent */
    struct mng_out *out; /* owned */
    uint64_t need;       /* not before store_done() has reached it */
};

struct mng_service {
    const struct mng_cfg *cfg; /* ref */
    struct ev *ev;             /* ref */
    struct rpc *rpc;
    struct admin *admin;
    struct mng_lead *lead; /* NULL: without Redis, this one leads */
    struct store *store;   /* the lead's, or owned */
    bool leads;            /* mng is that of a term; else an empty one */
    struct mng *mng;
    struct monitor *monitor;
    struct ev_timer *tick;
    msec_t tick_ms; /* when the next one is due */
    struct cluster_keys keys;
    char admin_token[256];
    struct map peers;     /* peer_no -> struct rpc_chan (ref) */
    peer_no last_peer;
    struct arena arena;   /* of the frame being decoded */
    struct mng_step *out; /* in order; the rest are spares; owned */
    size_t n_out, cap_out;
    size_t n_stored;      /* the first ones are with the store already, and wait for it */
    struct list held;     /* answers of the admin API that wait for the store; owned */
    struct list whys;     /* questions about tickets that nodes are asked; mng_why.c */
    uint64_t last_why;
    struct list tickets;  /* those that wait for a ticket on its way; owned */
    bool store_ok;
    struct map yaml;      /* hash of a queue's name -> text applied from the YAML (owned) */
    struct mng_shell_counts counts;
    struct op_log *op_log;  /* owned: what operators changed */
    struct events events;   /* what happened, and what queues did: for the dashboard */
    struct history history;
    msec_t history_ms;      /* the next round */
};

SQ_CHECK int mng_service_new(struct mng_service **out, struct ev *ev,
                             const struct mng_cfg *cfg, struct err *e);
void mng_service_free(struct mng_service *s);
/* HUP: *cfg has been replaced in place. */
void mng_service_reload(struct mng_service *s);

/* For one step of the core: give it to mng_...(), nothing else to do. Never NULL. */
struct mng_out *mng_service_step(struct mng_service *s);
/* Stores what the steps so far want, and sends it when it is kept. Done by itself at the
 * end of a turn; earlier by those who answer "it is kept". LATER: when store_done() has
 * reached *need. */
enum mng_kept { MNG_KEPT, MNG_KEPT_LATER, MNG_NOT_KEPT };
enum mng_kept mng_service_flush(struct mng_service *s, uint64_t *need);
void mng_service_kept(struct mng_service *s); /* the store has more than before */
void mng_service_drop(struct mng_service *s);
/* Before the end: gives up leading, if we do. True: a short moment to say so is wanted. */
bool mng_service_stop(struct mng_service *s);

/* ---- mng_term.c */
SQ_CHECK int mng_core_new(struct mng_service *s, struct err *e);
void mng_term_metrics(struct mng_service *s); /* the core hears which there are */
SQ_CHECK int mng_term_begin(struct mng_service *s, uint64_t epoch, struct err *e);
/* The core could not note down what it has decided (no memory): with a lease it is given
 * up, alone another core begins at once from what is stored. */
void mng_term_anew(struct mng_service *s);
SQ_CHECK int mng_lead_start(struct mng_service *s, struct err *e);
void mng_standby_answer(struct mng_service *s, struct rpc_chan *ch, const struct frame *f);

/* ---- mng_held.c: answers that wait until what they say is kept. */
void mng_hold(struct mng_service *s, struct admin_ans *a, uint64_t need);
void mng_held_answer(struct mng_service *s); /* those that need not wait any more */
void mng_held_end(struct mng_service *s);    /* the rest: it may or may not have happened */

/* ---- mng_why.c: GET /v1/admin/tickets/{token}: nodes are asked, the answer waits for them. */
void mng_why_answer(struct mng_service *s, const char *node, const struct msg_why_ans *a);
void mng_why_refused(struct mng_service *s, const char *node); /* an older node */
void mng_why_tick(struct mng_service *s);
void mng_why_end(struct mng_service *s);
/* ---- mng_admin_ticket.c: answers that wait for a ticket on its way to another lane */
void mng_tickets_answer(struct mng_service *s);
void mng_tickets_end(struct mng_service *s); /* a term is over */

/* ---- mng_yaml.c: queues of the configuration. Rule: an entry is applied if its queue
 * does not exist, or if the entry differs from what was applied last. So what the admin
 * API changed is kept until the YAML entry itself changes. */
SQ_CHECK int mng_yaml_load(struct mng_service *s, const char *key, const char *val);
void mng_yaml_apply(struct mng_service *s);
void mng_yaml_forget(struct mng_service *s); /* a term is over */
void mng_yaml_free(struct mng_service *s);

/* ---- mng_look.c: what the dashboard is shown */
SQ_CHECK int mng_look_start(struct mng_service *s, struct err *e);
void mng_look_tick(struct mng_service *s); /* with every tick */
void mng_look_end(struct mng_service *s);

/* ---- for admin_opts: mng_admin.c, mng_metrics.c */
void mng_admin(void *ctx, const struct admin_req *q, struct admin_ans *a);
void mng_metrics(void *ctx, struct buf *b);
bool mng_healthy(void *ctx, struct buf *why);

#endif
