/* rpc.h: authenticated, encrypted channels between our own processes. Shell over
 * rpc_link.h, tls.h.
 *
 * TLS first, if it is not off: with a key that comes from the link key, or with certificates. The
 * first byte of a connection says whether it is TLS (a plain hello never begins with 0x16), so one
 * port takes both while a cluster is brought from one to the other (TLS_ACCEPT).
 * Hello inside it, as without it: it says who is there, in which role and version. Both sides
 * prove that they know the link key, with certificates, too; nothing else is spoken before:
 *   dialler  -> HELLO     versions, role, node, incarnation, nonce_a
 *   acceptor -> CHALLENGE versions, role, node, incarnation, nonce_b, MAC("acceptor", all)
 *   dialler  -> PROOF     MAC("dialler", all)
 *   acceptor -> WELCOME
 * Then PING every heartbeat_ms both ways; a peer silent for three intervals is closed.
 * Output of a turn leaves in one write at the turn's end (hook). A channel's output
 * buffer is bounded; above it the channel is closed ("peer too slow").
 * A dialled link reconnects by itself, with back-off and jitter, until rpc_link_free().
 * One log line per closed channel, with the reason. */
#ifndef SEGQ_RPC_H
#define SEGQ_RPC_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/net/ev.h"
#include "common/wire/codec.h"
#include "common/wire/msg.h"

struct rpc;      /* all channels of a process */
struct rpc_chan; /* a connection, after a good hello */
struct rpc_link; /* a dialled peer: reconnects */
struct msg;
struct cfg_tls;

struct rpc_peer { /* the other end, as proved in the hello */
    enum rpc_role role;
    uint32_t version; /* PROTOCOL_VERSION of the peer */
    uint32_t speaks;  /* the highest that both of us know: nothing newer may be sent to it */
    uint64_t incarnation;
    char node[NAME_MAX_LEN + 1];
    char addr[64]; /* "host:port" of the socket's other end */
};

struct rpc_opts {
    enum rpc_role role; /* ours */
    const char *node;
    uint64_t incarnation;
    const uint8_t *link_key; /* 32 bytes; copied */
    const uint8_t *other_link_key; /* NULL, or another one that peers may have; copied */
    uint32_t heartbeat_ms;   /* 0 = 1000 */
    size_t max_output_bytes; /* per channel; 0 = 64 MiB */
    uint64_t seed;           /* seed of the jitter */
    const struct cfg_tls *tls; /* NULL: off; read during rpc_new() only */
};

/* Called from the loop, never from inside rpc_end() or rpc_chan_close(): down is posted.
 * After on_down the channel is gone. Each frame's body is valid during the call only. */
struct rpc_calls {
    void (*on_up)(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer);
    void (*on_frame)(void *ctx, struct rpc_chan *ch, const struct frame *f);
    void (*on_down)(void *ctx, struct rpc_chan *ch, const char *why);
    /* Dialled links only: one try failed, before anything was up; the next one follows by
     * itself. May be NULL, like the others. */
    void (*on_fail)(void *ctx, const char *why);
};

/* Ranks of our end-of-turn hooks: what others send from hooks between them leaves in the
 * same turn. (Sent from a later hook, or from outside a turn, it leaves in the next.)
 * Nothing leaves earlier: what must be done before a turn's answers are out is a hook
 * between them. */
#define RPC_HOOK_FIRST (-100)
#define RPC_HOOK_LAST  100

SQ_CHECK int rpc_new(struct rpc **out, struct ev *ev, const struct rpc_opts *o,
                     struct err *e);
/* Reads certificates again, for links to come: those that are there stay. A reason: nothing changed. */
SQ_CHECK int rpc_reload(struct rpc *r, const struct cfg_tls *c, struct err *e);
/* Closes everything without calling on_down; what is waiting is still written if it goes
 * at once. Not from inside a callback. */
void rpc_free(struct rpc *r);

/* Accepts peers of the roles in the bit set (1u << RPC_ROUTER ...); others are refused in
 * the hello. addr: "host:port"; port 0 picks one. May be called more than once. */
SQ_CHECK int rpc_listen(struct rpc *r, const char *addr, unsigned roles,
                        const struct rpc_calls *calls, void *ctx, struct err *e);
/* "host:port" actually bound by the last rpc_listen. */
const char *rpc_listen_addr(const struct rpc *r);
/* Accepts nobody new; the channels that are there stay. */
void rpc_unlisten(struct rpc *r);

/* Dials until freed. `role`: what the other end must be. NULL: no memory. */
struct rpc_link *rpc_dial(struct rpc *r, const char *addr, enum rpc_role role,
                          const struct rpc_calls *calls, void *ctx);
struct rpc_chan *rpc_link_chan(const struct rpc_link *l); /* NULL while down */
void rpc_link_free(struct rpc_link *l); /* closes without calling on_down */

/* A frame: begin, append the body to the buffer, end. Nothing else in between.
 * rpc_end returns 0 or SQ_ENOMEM, SQ_ETOOBIG (the frame is taken back then). On a closed
 * channel, until its on_down, frames are dropped: as if the link had broken later. */
struct buf *rpc_begin(struct rpc_chan *ch);
SQ_CHECK int rpc_end(struct rpc_chan *ch, uint16_t type, uint64_t rid);
/* The whole of it: one message as a frame. 0, or as msg_encode() and rpc_end(): then nothing of
 * it is sent. */
SQ_CHECK int rpc_send(struct rpc_chan *ch, const struct msg *m, uint64_t rid);

const struct rpc_peer *rpc_chan_peer(const struct rpc_chan *ch);
void rpc_chan_set_data(struct rpc_chan *ch, void *data); /* the user's own */
void *rpc_chan_data(const struct rpc_chan *ch);
/* When its peer was heard last. */
msec_t rpc_chan_heard_ms(const struct rpc_chan *ch);
size_t rpc_chan_pending(const struct rpc_chan *ch); /* bytes not yet written, sealed or not */
/* Once fewer bytes than these are left behind a write, a turn follows at once: who has kept something
 * back looks then. */
void rpc_chan_turn_below(struct rpc_chan *ch, size_t bytes);
/* Closes at the end of the turn, after one try to write what is waiting; on_down follows
 * with this reason. No frame is delivered any more. */
void rpc_chan_close(struct rpc_chan *ch, const char *why);
/* The same, but what is waiting is never written: it may not be said. */
void rpc_chan_drop(struct rpc_chan *ch, const char *why);

struct rpc_counts { /* ever, for metrics */
    uint64_t frames_in, frames_out, bytes_in, bytes_out, writes;
    uint64_t accepted, dialled; /* good hellos */
    uint64_t refused;           /* closed before the hello was complete */
    uint64_t plain;             /* good hellos without TLS */
    uint64_t closed;            /* after it */
    uint64_t unfit;             /* messages that were not sent: the peer would refuse them */
    uint64_t cert_ends_s;       /* Unix seconds when our certificate ends; 0: none */
};
const struct rpc_counts *rpc_counts(const struct rpc *r);
/* Their rows on a page of metrics, for a process's own macro, which puts its name in front. */
#define RPC_ROWS(ROW)                                                                          \
    ROW("link_frames_received_total", COUNTER, frames_in, "Frames received"),                  \
    ROW("link_frames_sent_total", COUNTER, frames_out, "Frames sent"),                         \
    ROW("link_received_bytes_total", COUNTER, bytes_in, "Bytes received on internal links"),   \
    ROW("link_sent_bytes_total", COUNTER, bytes_out, "Bytes sent on internal links"),          \
    ROW("link_writes_total", COUNTER, writes, "System calls that sent them"),                  \
    ROW("links_accepted_total", COUNTER, accepted, "Links accepted"),                          \
    ROW("links_dialled_total", COUNTER, dialled, "Links made by us"),                          \
    ROW("links_plain_total", COUNTER, plain, "Links without TLS, of both kinds"),              \
    ROW("links_refused_total", COUNTER, refused, "Connections whose hello was not good"),      \
    ROW("links_closed_total", COUNTER, closed, "Links closed"),                                \
    ROW("link_messages_unfit_total", COUNTER, unfit,                                           \
        "Messages not sent: peers would refuse them"),                                         \
    ROW("link_cert_expires_timestamp_seconds", GAUGE, cert_ends_s,                             \
        "Unix time when the certificate of internal links ends; 0 = there is none")

/* A certificate that ends soon, or has ended, in a sentence for /healthz; nothing if there is none. */
#define CERT_SOON_S (14 * 86400)
void rpc_warn(const struct rpc *r, struct buf *b);

#endif
