/* rpc_chan.h: one connection: output, and how it ends. Shell. (Its input: rpc_link.h.) And those who have
 * connected and have not proved themselves yet: strangers. Pure.
 *
 * Whoever reaches the port can be one, for as long as a hello may take. They are bounded in number,
 * and so are the handshakes that are begun in a beat; both so that a flood from one address leaves
 * room for a peer at another, and, if it is not larger than what is accepted, for one beside it:
 *   too many            the oldest of the largest crowd gives way to the newcomer: it had its time
 *   too many handshakes the last quarter is for crowds that have begun few
 * A crowd is what comes from one address, by a keyed hash of it. */
#ifndef SEGQ_RPC_CHAN_H
#define SEGQ_RPC_CHAN_H

#include <sys/types.h>

#include "common/base/list.h"
#include "common/wire/msg.h"

struct rpc;
struct rpc_chan;

/* The next turn must not wait: there is something to do at its end. */
void rpc_again(struct rpc *r);
/* Closes: on_down and the memory follow at the end of the turn. The first reason counts. */
void chan_fail(struct rpc_chan *ch, const char *fmt, ...) SQ_PRINTF(2, 3);
void chan_free(struct rpc_chan *ch);  /* at once, silently */
void chan_up(struct rpc_chan *ch);    /* the hello is complete */
void chan_dirty(struct rpc_chan *ch); /* has output: written at the end of the turn */
void chan_write(struct rpc_chan *ch);
ssize_t chan_put(struct rpc_chan *ch); /* hands what is waiting to the kernel, once: as send(2) */
/* A whole frame of ours (hello, ping). */
void chan_send(struct rpc_chan *ch, enum msg_type type, const void *body, size_t n);

/* ---- strangers -------------------------------------------------------------------- */

#define STRANGERS_MOST      256
#define HANDSHAKES_PER_BEAT 64
#define STRANGERS_CROWDS    256

struct stranger {
    struct list_node node; /* strangers.all; linked to nothing: it is none, or none any more */
    uint8_t crowd;
    bool waits; /* for its handshake's turn */
};

struct strangers {
    struct list all;                   /* a list of struct stranger, in order of arrival */
    uint16_t crowd[STRANGERS_CROWDS];  /* how many each has */
    uint16_t begun[STRANGERS_CROWDS];  /* handshakes in this beat */
    unsigned n_begun;                  /* their sum */
};

void strangers_init(struct strangers *s);
void strangers_enter(struct strangers *s, struct stranger *x, uint8_t crowd);
void strangers_leave(struct strangers *s, struct stranger *x); /* also of one that is none */
/* Finds the one that must give way before another one may enter. NULL: nobody. */
struct stranger *strangers_surplus(const struct strangers *s);
/* May it begin a handshake in this beat? If so, it is counted. */
bool strangers_may_begin(struct strangers *s, const struct stranger *x);
void strangers_beat(struct strangers *s);

#endif
