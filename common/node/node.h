/* node.h: a node of the cluster: an end that routers and other nodes dial, links to all managers,
 * an admin port; what it knows of its peers, and what it wants said. Shell.
 *
 *   node.c         configuration, start, ready, stop, end
 *   node_peers.c   channels that come and go; messages in and out
 *
 * What the node holds is its kind's affair: a table behind struct node_kind.
 *
 *   unknown message type            MSG_ERROR SQ_EUNKNOWN, the link stays
 *   damaged body                    that link is closed, with the reason
 *   a type this peer may not send   the same
 *   no memory for an answer         the same: the peer asks again on the next link
 *   an answer that cannot be sent   the same
 *   other messages too large        logged and counted, not sent: who needs them asks again */
#ifndef SEGQ_NODE_H
#define SEGQ_NODE_H

#include "common/base/list.h"
#include "common/config/cfg.h"
#include "common/config/cfg_check.h"
#include "common/http/admin.h"
#include "common/net/rpc.h"
#include "common/supervisor/metrics_process.h"
#include "common/ticket/keys.h"
#include "common/wire/msg.h"

/* The part of a configuration that every node has. It is the first member of the program's struct. */
struct node_cfg {
    char *node, *listen, *advertise, *admin, *secret_file, *log_file, *region, *zone;
    struct cfg_list managers; /* a list of char * */
    bool create_keys;
    char *journal_dir;
    int journal;              /* enum journal_mode */
    int64_t journal_snapshot; /* bytes */
    int64_t heartbeat_ms;
    int log_level; /* enum log_level */
    struct cfg_tls tls;
    struct cfg_cert admin_tls;
};

extern const char *const node_journal_modes[]; /* by enum journal_mode, NULL-ended */

/* Rows of the program's table. port, admin_port: defaults, as text; peers: who dials it; changes:
 * what is written (plural). */
#define NODE_KEY(name) .key = #name, .offset = offsetof(struct node_cfg, name)
#define NODE_KEYS(name, port, admin_port, peers)                                               \
    { NODE_KEY(node), .type = CFG_STR, .def = name, .min = 1, .max = NAME_MAX_LEN,             \
      .help = "name of this node (letters, digits, . _ -); unique, and the same after "        \
              "each restart" },                                                                \
    { NODE_KEY(listen), .type = CFG_ADDR, .def = "127.0.0.1:" port,                            \
      .help = "address for " peers },                                                          \
    { NODE_KEY(advertise), .type = CFG_ADDR, .def = "",                                        \
      .help = "address at which they can dial this node; \"\" = listen, as bound" },           \
    { NODE_KEY(admin), .type = CFG_ADDR, .def = "127.0.0.1:" admin_port,                       \
      .help = "address of /metrics and /healthz, for operators" },                             \
    CFG_PLACE_KEYS(struct node_cfg),                                                           \
    CFG_MANAGERS_KEY(struct node_cfg),                                                         \
    CFG_SECRET_KEY(struct node_cfg),                                                           \
    CFG_ADMIN_TLS_KEYS(struct node_cfg),                                                       \
    CFG_TLS_KEYS(struct node_cfg)
#define NODE_JOURNAL_KEYS(changes)                                                             \
    { NODE_KEY(journal), .type = CFG_ENUM, .def = "os", .words = node_journal_modes,           \
      .help = "what survives a restart: off: nothing; os: " changes " are written before "     \
              "they are answered; fsync: " changes " are on the disk before they are "         \
              "answered" },                                                                    \
    { NODE_KEY(journal_dir), .type = CFG_STR, .def = "journal", .min = 1, .max = 400,          \
      .help = "folder of the journals; each node uses the subfolder of its name" },            \
    { NODE_KEY(journal_snapshot), .type = CFG_BYTES, .def = "64m", .min = 512,                 \
      .max = 1ll << 40,                                                                        \
      .help = "bytes written after which the journal becomes a new snapshot; less: "           \
              "shorter restarts, more writing" }
#define NODE_LAST_KEYS                                                                         \
    { .key = "heartbeat", .offset = offsetof(struct node_cfg, heartbeat_ms), .type = CFG_MS,   \
      .def = "1s", .min = 50, .max = 60000,                                                    \
      .help = "interval of heartbeats on internal links; a peer silent for three of them "     \
              "is gone" },                                                                     \
    CFG_LOG_KEYS(struct node_cfg),                                                             \
    { .key = NULL }

/* Checks between keys. cfg: it begins with struct node_cfg. */
SQ_CHECK int node_cfg_check(const void *cfg, struct err *e);
SQ_CHECK int node_cfg_try(const void *cfg, struct err *e); /* for struct prog */

#define NODE_MANAGERS 16
#define NODE_TICK_MS  100
#define NODE_LATE_MS  1000

struct node_peer { /* a live channel; its data */
    struct list_node in_peers;
    peer_no no;
    struct rpc_chan *ch; /* ref */
    uint64_t handed;     /* bytes of long messages (out_item.bulk) that the link was given, ever */
    enum rpc_role role;
};

struct node_kind {
    enum rpc_role role;
    unsigned peers; /* roles that may dial it: 1u << RPC_ROUTER ... */
    void (*metrics)(void *ctx, struct buf *b);
    /* Appends to warnings, after "; " if there are some; NULL: it has none. */
    void (*warn)(void *ctx, struct buf *b);
    /* Each: from the loop; ctx: of node_open(). */
    void (*up)(void *ctx, struct node_peer *p, const char *name);
    /* Good, and allowed from that peer; what it points to lives during the call. */
    void (*msg)(void *ctx, struct node_peer *p, const struct msg *m, uint64_t rid);
    void (*down)(void *ctx, const struct node_peer *p); /* already in no list */
    /* To PEER_SELF, in its turn among what is sent; NULL: it says nothing to itself. */
    void (*self)(void *ctx, const struct msg *m, uint64_t rid);
    /* NULL: rpc_send(). */
    int (*send)(void *ctx, struct rpc_chan *ch, const struct msg *m, uint64_t rid);
};

struct node_counts { /* ever; for metrics */
    uint64_t frames;     /* good ones */
    uint64_t bad_frames; /* damaged, or not allowed from that peer */
    uint64_t unknown;    /* types */
    uint64_t unsent;     /* outgoing messages that were dropped */
};

struct node_opts { /* options of the process */
    const struct cluster_keys *secret; /* read during node_open() only */
    uint64_t incarnation;              /* grows from start to start */
    void (*on_ready)(void *ctx);       /* once: registered, or waited long enough */
    void (*on_gone)(void *ctx);        /* after node_stop(), when all is sent */
    void *ctx;
};

struct node {
    struct ev *ev;   /* ref */
    struct rpc *rpc; /* owned, like all below */
    struct admin *admin;
    struct ev_timer *gone;
    struct rpc_link *manager[NODE_MANAGERS];
    size_t n_managers;
    struct list peers; /* a list of struct node_peer */
    peer_no last_peer;
    struct arena mem;  /* memory of the frame at hand */
    struct outbox out;
    struct node_counts n;
    msec_t began_ms;
    bool ready, stopping;
    struct own_load load;
    msec_t ticked_ms, late_ms; /* the last tick; the most that one was late since the last LOAD */
    struct { /* by a standby manager, in this turn; "" = nothing */
        char addr[64], name[NAME_MAX_LEN + 1];
    } told_leader;
    char advertise[64], region[NAME_MAX_LEN + 1], zone[NAME_MAX_LEN + 1];
    const struct node_kind *kind;
    void *ctx;
    struct node_opts opts; /* without the secret */
};

/* The current one may be removed and freed. */
#define each_node_peer(n, p) list_each_of(&(n)->peers, struct node_peer, in_peers, p)

/* Listens: nobody is heard before the loop turns. c: read during the call only. After an error,
 * too: node_close(). */
SQ_CHECK int node_open(struct node *n, struct ev *ev, const struct node_cfg *c,
                       const struct node_opts *o, const struct node_kind *kind, void *ctx,
                       struct err *e);
/* All else is there: dials the managers. */
SQ_CHECK int node_begin(struct node *n, const struct node_cfg *c, struct err *e);
/* Ends all links; nobody is told. Also of one that is zero. Not from inside a callback. */
void node_close(struct node *n);

void node_become_ready(struct node *n);
void node_reload(struct node *n, const struct node_cfg *c);
/* Every NODE_TICK_MS: without a manager it is ready after a while, too. Tells managers its load. */
void node_tick(struct node *n, msec_t now_ms);
/* Accepts nobody new; what is on its way is still answered. False: it stops already. */
bool node_stop(struct node *n);
/* Words of a turn that could not be kept do not count: they cannot be what a restart would
 * find, either. The process ends. e: "" is a want of memory. */
_Noreturn void node_cannot_recover(const struct err *e);

/* Reads (or creates) the cluster's secret; *secret must outlive node_open(), and is wiped by the
 * caller. The supervisor is told when the node is ready; the loop ends when it is gone. */
SQ_CHECK int node_start(struct node_opts *o, struct cluster_keys *secret,
                        const struct node_cfg *c, struct ev *ev, struct err *e);

/* Figures of a node for Prometheus: rows of struct node_counts for a process's own macro, which
 * puts its name in front. */
#define NODE_ROWS(ROW)                                                                         \
    ROW("frames_total", COUNTER, frames, "Messages of peers"),                                 \
    ROW("bad_frames_total", COUNTER, bad_frames, "Frames for which a link was closed"),        \
    ROW("unknown_frames_total", COUNTER, unknown, "Frames of a type that this build lacks"),   \
    ROW("unsent_messages_total", COUNTER, unsent, "Messages dropped: peer gone, or too large")

#endif
