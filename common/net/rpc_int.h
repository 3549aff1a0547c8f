/* rpc_int.h: the data of all channels of a process. Only rpc*.c include it.
 *
 *   rpc.c         listens; all channels: heartbeats, the end of a turn, the ends of channels
 *   rpc_link.c    dials, waits, dials again; bytes in
 *   hosts.c       host names for rpc_link.c
 *   tls.c         the socket, sealed; tls_wire.c: as OpenSSL reads it
 *   rpc_hello.c   who is there: the hello's bodies, MACs and steps
 *   rpc_chan.c    frames out; how a channel ends; who has proved nothing yet (strangers)
 * Each calls only those below it.
 *
 * dialled:  CONNECTING [-> TLS] -> CHALLENGE -> WELCOME -> UP -> CLOSING
 * accepted: HELLO [-> TLS -> HELLO] -> PROOF -> UP -> CLOSING;  everything may go to CLOSING
 */
#ifndef SEGQ_RPC_INT_H
#define SEGQ_RPC_INT_H

#include <sodium.h>

#include "common/base/list.h"
#include "common/base/rng.h"
#include "common/net/hosts.h"
#include "common/net/net.h"
#include "common/net/rpc.h"
#include "common/net/rpc_chan.h"
#include "common/net/tls.h"
#include "common/wire/msg.h"

#define HELLO_NONCE_BYTES 32
#define HELLO_MAC_BYTES   32
#define HELLO_CARD_BYTES  52  /* bytes of a card, without the name */
#define HELLO_CARD_MAX    256 /* with it, and with what newer versions add behind it */
#define HELLO_TIMEOUT_MS  3000
#define DIAL_TIMEOUT_MS   5000 /* four ways there and back, over an ocean with a packet lost */
#define STRANGER_GAVE_WAY "too many strangers, most of them from its address: the oldest gave way"
#define FRAMES_PER_TURN   256 /* frames of a channel */
#define SILENT_INTERVALS  3
#define HEARTBEAT_MAX_MS  60000 /* longest that a peer may announce */
#define KEEP_BYTES        (1u << 20) /* an empty buffer above this is given back */
#define NO_FRAME          SIZE_MAX /* rpc_chan.frame_at: none is under construction */

enum chan_state {
    CHAN_CONNECTING, /* dialled: TCP is on its way */
    CHAN_TLS,        /* the handshake is under way */
    CHAN_CHALLENGE,  /* dialled: HELLO is sent, CHALLENGE is awaited */
    CHAN_WELCOME,    /* dialled: PROOF is sent, WELCOME is awaited */
    CHAN_HELLO,      /* accepted: HELLO is awaited */
    CHAN_PROOF,      /* accepted: CHALLENGE is sent, PROOF is awaited */
    CHAN_UP,
    CHAN_CLOSING /* closed; lives until the end of the turn */
};

struct hello { /* HELLO, and CHALLENGE without its MAC */
    uint32_t version, oldest, heartbeat_ms;
    uint8_t role;
    uint64_t incarnation;
    uint8_t nonce[HELLO_NONCE_BYTES];
    char node[NAME_MAX_LEN + 1];
    uint8_t card[HELLO_CARD_MAX]; /* the card as sent: the MACs cover it */
    size_t card_len;
};

struct rpc_listener {
    struct list_node node; /* rpc.listeners */
    struct rpc *rpc;       /* ref */
    int fd;
    struct ev_io *io;
    unsigned roles;
    bool starved; /* the last accept found no descriptor: said once */
    struct rpc_calls calls;
    void *ctx;
    char addr[NET_TEXT_MAX];
};

struct rpc_chan {
    struct list_node node;    /* rpc.chans or, when CLOSING, rpc.closing */
    struct list_node dirty;   /* rpc.dirty: has output that nobody tried to write */
    struct list_node backlog; /* rpc.backlog: has whole frames that were not handled */
    struct rpc *rpc;          /* ref */
    struct rpc_link *link;    /* ref; NULL if accepted, or if the link was freed */
    struct rpc_calls calls;
    void *ctx, *data;
    enum chan_state state;
    bool told_up;   /* on_up was called, so on_down must be */
    bool blocked;   /* the kernel takes no more: waiting until it does */
    bool flush;     /* our own close: send what is waiting, if it goes at once */
    bool accepted;  /* not dialled */
    bool looked;    /* accepted: its first byte was seen */
    struct stranger stranger; /* accepted: until it has proved itself */
    unsigned roles; /* whom we may talk to here, a bit set */
    int fd;
    struct ev_io *io;
    struct tls *tls; /* owned; NULL: plain */
    struct buf in, out;
    size_t in_done;  /* bytes of `in` that are handled */
    size_t out_done; /* bytes of `out` that are written */
    size_t turn_below; /* rpc_chan_turn_below(); 0: nobody waits */
    size_t frame_at; /* where in `out` the frame under construction starts */
    size_t chunk;    /* how much to read at once; grows with the traffic */
    msec_t last_in, next_ping, deadline; /* deadline: of the hello */
    uint32_t silence_ms;                 /* this long without a byte: dead */
    struct hello mine, theirs;
    struct rpc_peer peer;
    uint64_t frames_in, frames_out, bytes_in, bytes_out;
    char why[96];
};

struct rpc_link {
    struct list_node node; /* rpc.links */
    struct rpc *rpc;       /* ref */
    struct rpc_chan *chan; /* ref; also while it is not yet up */
    struct host_question *name; /* owned: a question to the name server; NULL if none */
    uint32_t names_told; /* answers: each time another address of the name is tried */
    struct rpc_calls calls;
    void *ctx;
    enum rpc_role role;
    struct ev_timer *timer; /* the next try */
    msec_t up_since;
    uint32_t backoff_ms;
    unsigned failures; /* in a row */
    unsigned turn; /* handshakes that failed: which key is tried next, or none (TLS_ACCEPT) */
    char addr[256];
};

struct rpc {
    struct ev *ev; /* ref */
    enum rpc_role role;
    char node[NAME_MAX_LEN + 1];
    uint64_t incarnation;
    uint8_t link_key[32], other_link_key[32];
    bool has_other_key;
    enum tls_mode tls;
    struct tls_ctx *by_key, *by_certificate; /* owned; NULL: there is none */
    unsigned n_accepted, n_displaced; /* since the last beat */
    struct strangers strangers;
    uint8_t crowd_key[crypto_shorthash_KEYBYTES];
    uint32_t heartbeat_ms;
    size_t max_output_bytes;
    struct rng rng;
    struct ev_timer *beat;
    msec_t last_beat;
    msec_t said_end_ms; /* last word about its end; 0: none yet */
    bool turn_ends;     /* between its two hooks: what is said now is written in this very turn */
    bool accept_paused; /* no descriptors, or enough of them: until the next beat */
    struct list chans, closing, dirty, backlog, links, listeners;
    struct rpc_counts counts;
    struct hosts hosts;
};

#endif
