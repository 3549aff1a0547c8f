/* manager.h: the queuemng process around the manager's core (mng.h): its state, and how the core's
 * decisions become true. Shell.
 *
 *   routers, segment nodes --rpc--> on_frame -> mng_msg()   -> acts
 *   timer, every tick ------------------------> mng_tick()  -> acts
 *   admin API --------------------------------> mng_queue_put() ... -> acts
 *   monitor ----------------------------------> mng_reading()
 *
 * The acts are stored, then sent: below. Also what the process remembers of its peers: their loads, and
 * whose messages no core survives. */
#ifndef SEGQ_QUEUEMNG_PROCESS_MANAGER_H
#define SEGQ_QUEUEMNG_PROCESS_MANAGER_H

#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/map.h"
#include "common/base/memory.h"
#include "common/http/admin.h"
#include "common/net/hosts.h"
#include "common/net/rpc.h"
#include "common/ticket/keys.h"
#include "common/wire/msg.h"
#include "queuemng/access/tokens.h"
#include "queuemng/core/mng.h"
#include "queuemng/logbook/history.h"
#include "queuemng/logbook/op_log.h"
#include "queuemng/monitor/monitor.h"
#include "queuemng/process/config.h"
#include "queuemng/process/lead.h"

/* ---- memory of peers, of which the core knows nothing: pure -----------------------------------
 *
 * Loads: what processes say of themselves: processor, memory, how soon they answer; for operators to
 * look at.
 *
 * Blame: peers whose messages the core did not survive. A core that cannot note down a step is
 * begun anew (below). If that is due to a message, its sender says it again as soon as it has
 * registered with the next core, and nothing else is done any more. So a peer whose message was the
 * last of BLAME_TIMES cores within a minute is dropped: its links are closed for ten minutes, and
 * everybody else is served. Counted by peer: without memory any message may be the one too many, and
 * most of them are not one peer's. */

#define LOAD_STALE_MS 10000 /* older ones are not shown */
#define CLOCK_OFF_MS  5000  /* a clock so far from ours is wrong, or ours is */
#define CLOCK_RIGHT_MS 4000 /* and is right again when it is nearer than that */
#define CLOCK_SURE    2     /* words in a row: one may have been late on its way */
#define CLOCK_APART_MS 1000 /* words that come closer together were late, all but the last: one of us stood still */

#define ROUTER_MISSED_MS   600000 /* a router that is gone is told of for so long */
#define ROUTER_FOLLOWED_MS 120000 /* a router that came so long before, or since, has its place */
#define ROUTERS_FOUND_MS   15000  /* routers that come so soon after the first word were there before us */
#define ROUTERS_MISSED_MAX 16

struct load_seen {
    enum rpc_role role;
    char name[NAME_MAX_LEN + 1];
    char version[LOAD_VERSION_MAX + 1], warning[LOAD_WARNING_MAX + 100]; /* with ours, of its clock */
    msec_t at_ms, since_ms; /* last word; first word, -ROUTER_FOLLOWED_MS: it was there before us */
    unsigned off; /* words in a row by which its clock is off, up to CLOCK_SURE */
    struct msg_load load; /* texts of it are those above */
};

struct loads {
    struct map by_name; /* hash of role and name -> struct load_seen (owned) */
    msec_t began_ms;    /* first word; 0: there was none */
};

void loads_init(struct loads *l);
void loads_fini(struct loads *l);
/* At the begin of a term: who had another manager meanwhile is neither gone nor new. */
void loads_clear(struct loads *l);
/* wall_ms: our own clock. Without memory it is not noted. */
void loads_note(struct loads *l, enum rpc_role role, const char *name, msec_t now_ms, int64_t wall_ms,
                const struct msg_load *m);
/* Processes whose clock is off, for CLOCK_SURE words. */
size_t loads_clocks_off(const struct loads *l, msec_t now_ms);
/* NULL: it has said nothing lately. */
const struct load_seen *loads_of(const struct loads *l, enum rpc_role role, const char *name,
                                 msec_t now_ms);
/* Routers that are gone without having said that they leave, and whose place no new one has taken (a rolling
 * replacement may give new names): those that went last, the latest first; returns how many. */
size_t loads_routers_missed(const struct loads *l, msec_t now_ms, const struct load_seen *v[ROUTERS_MISSED_MAX]);
/* Drops stale ones. */
void loads_tidy(struct loads *l, msec_t now_ms);

#define BLAME_TIMES     3
#define BLAME_WITHIN_MS 60000
#define BLAME_DROP_MS   600000
#define BLAME_ROWS      16 /* peers that are remembered; above it the one of longest ago gives way */

struct blamed {
    enum rpc_role role;
    char node[NAME_MAX_LEN + 1];
    msec_t at_ms[BLAME_TIMES]; /* the newest first; 0: none */
    msec_t until_ms;           /* end of the time for which it is dropped */
};

struct blame { /* zero: nobody */
    struct blamed v[BLAME_ROWS];
};

/* A core has ended with a message of this peer: how often within the last minute. Above 0. */
unsigned blame_add(struct blame *b, enum rpc_role role, const char *node, msec_t now_ms);
/* For how long its links are closed yet; 0: they are not. */
msec_t blame_left_ms(const struct blame *b, enum rpc_role role, const char *node, msec_t now_ms);

/* ---- the process ------------------------------------------------------------------ */

struct mng_shell_counts { /* ever */
    uint64_t messages, undecodable, store_failures, steps;
};

struct mng_step_by { /* cause of a step */
    char node[NAME_MAX_LEN + 1]; /* "": the clock, a reading, or an operator */
    enum rpc_role role;
    uint16_t type; /* type of its message; 0: the link came up */
};

struct mng_step { /* output of the core: what it wants stored and sent */
    struct mng_out *out; /* owned */
    uint64_t need;       /* not before store_done() has reached it */
    struct mng_step_by by;
};

struct mng_fault { /* the first step that the core could not note down */
    struct mng_step_by by;
    char why[MNG_OUT_WHY_MAX];
};

struct mng_service {
    const struct mng_cfg *cfg; /* ref */
    struct ev *ev;             /* ref */
    struct rpc *rpc;
    struct admin *admin;
    struct mng_lead *lead; /* NULL: without Redis, this one leads */
    struct store *store;   /* the lead's, or owned */
    bool leads;            /* mng is that of a term; else an empty one */
    bool broken;           /* mng could not note down a step: it ends with the turn */
    struct mng_fault fault; /* while broken: which */
    struct blame blame;    /* peers whose messages did it again and again */
    struct mng *mng;
    struct monitor *monitor;
    struct hosts hosts;    /* for names of targets; service/service.c */
    struct list names;     /* questions for them */
    struct ev_timer *tick;
    msec_t tick_ms; /* when the next one is due */
    struct cluster_keys keys;
    char admin_token[256], proxy_secret[256]; /* proxy_secret: "": none */
    struct access_file root, tokens; /* a row of admin_token; those of admin_tokens_file */
    struct access_file tokens_before; /* rows of a call may be those of before a reload */
    uint64_t signed_out[1024];       /* ids of sessions of the dashboard: the last ones; 0: none */
    size_t n_signed_out;             /* ever */
    struct log_limit refused_log, session_log; /* lines that any token can cause */
    char tokens_wrong[300];          /* why the file was refused when it was read again; "": it was not */
    struct map peers;     /* peer_no -> struct rpc_chan (ref) */
    peer_no last_peer;
    struct arena arena;   /* memory of the frame being decoded */
    struct mng_step *out; /* in order; the rest are spares; owned */
    size_t n_out, cap_out;
    size_t n_stored;      /* the first ones are with the store already, and wait for it */
    struct list deferred;    /* answers of the admin API that wait for the store; owned */
    struct list traces;   /* questions about tickets that nodes are asked; admin/trace.h */
    uint64_t last_trace;
    struct list walks;    /* questions and orders about tasks; admin/walk.h */
    uint64_t last_walk;
    bool store_ok;
    struct map yaml;      /* hash of a queue's name -> text applied from the YAML (owned) */
    struct mng_shell_counts counts;
    struct loads loads;     /* loads of other processes; also while another manager leads */
    struct op_log *op_log;  /* owned: what operators changed */
    struct events events;   /* events, and figures of queues: for the dashboard */
    struct history history, pool_history; /* by queue; by pool (mng_pool_view.id) */
    msec_t history_ms;      /* the next round */
    msec_t history_from_ms; /* none before it */
};

/* The decisions of the core: stored, then sent.
 *
 * The acts of a turn are gathered. At its end: all puts into the store, one sync; when they
 * are stored, all sends in order: so nothing is said that a restarted manager, or the next
 * leader, would not know. If the file cannot be written, nothing is sent and the links of the
 * peers concerned are closed: they come back, and are told when the store works again. If
 * Redis does not answer, what waits for it goes with the lease.
 *
 * A step that the core could not note down (no memory) makes the core worthless: from then on
 * nothing of it is stored or sent, and at the end of the turn another one begins from what is
 * stored (s->broken, mng_term_anew()). The first such step of the turn stays in s->fault. */

/* For one step of the core: an argument of mng_...(), nothing else to do. Never NULL. */
struct mng_out *mng_service_step(struct mng_service *s);
/* The same, by a message of this peer; type 0: its link came up. */
struct mng_out *mng_service_step_by(struct mng_service *s, const struct rpc_peer *peer, uint16_t type);

enum mng_stored { MNG_STORED, MNG_STORED_LATER, MNG_NOT_STORED };
/* Stores what the steps so far want, and sends it when that is done. Done by itself at the end
 * of a turn; earlier before an answer that says "done". LATER: when store_done() has
 * reached *need. */
enum mng_stored mng_service_flush(struct mng_service *s, uint64_t *need);
void mng_service_stored(struct mng_service *s); /* the store has more than before */
void mng_service_drop(struct mng_service *s); /* forgets the steps: their lease is over */

/* Answers of the admin API that wait until the store has the change. With a
 * file that is before the handler returns; with Redis a moment later. If the term ends first,
 * nobody knows whether the next leader will have the change: 503. */

/* The answer leaves when store_done() has reached `need` (of mng_service_flush()). */
void mng_defer(struct mng_service *s, struct admin_ans *a, uint64_t need);
void mng_deferred_send(struct mng_service *s); /* whose changes are stored now */
void mng_deferred_fail(struct mng_service *s);    /* all: 503, the outcome is unknown */

/* Is this manager well? For /healthz, and for the dashboard: struct admin_opts.healthy; ctx: struct
 * mng_service. why: what is wrong, if it is not. */
bool mng_healthy(void *ctx, struct buf *why);

#endif
