/* body.h: the bytes of tasks: payloads and results, put into either kind of store, read, and told on links
 * in portions. Pure. For the files of this room.
 *
 * A worker's result is kept whole, or as its length, its SHA-256 and as many of its first bytes as
 * the pool keeps. Most results are short and never read, and their hash would be a fifth of a
 * task's life: so that of a whole one is made of its bytes when it is read. */
#ifndef SEGQ_TASKTAB_BODY_H
#define SEGQ_TASKTAB_BODY_H

#include "task/calls/calls.h"
#include "task/node/state.h"

/* See tab_bodies. */
SQ_CHECK int tasktab_body_put(struct tasktab *t, const struct part *p, const struct bytes_of *body,
                              uint64_t *ref);
void tasktab_body_drop(struct tasktab *t, const struct part *p, uint64_t ref);
/* The bytes of a body or result, in the arena; of a shared store: they are there when the turn's
 * answers may leave. False: they are lost, or there is no memory. */
bool tasktab_body_load(struct tasktab *t, const struct part *p, uint64_t ref, struct bytes_of *to,
                       struct arena *mem);

/* ---- results ----------------------------------------------------------------------- */

#define RESULT_HEAD_WHOLE 1 /* bytes before the result's own */
#define RESULT_HEAD_CUT   (1 + 8 + RESULT_SHA256)

struct result {
    const uint8_t *p; /* borrowed: the first n bytes */
    uint32_t n;
    uint64_t length; /* bytes that it had; > n: it was cut */
    uint8_t sha256[RESULT_SHA256]; /* hash of all of it */
};

/* Appends what is kept of n bytes; most: of them. */
void result_pack(const uint8_t *p, uint32_t n, uint64_t most, struct buf *out);
/* The same of one that was longer than the n bytes that are here: length and hash are those of
 * all. */
void result_pack_cut(const uint8_t *p, uint32_t n, uint64_t length,
                     const uint8_t sha256[RESULT_SHA256], struct buf *out);
/* 0; SQ_EPROTO: it was not packed. */
SQ_CHECK int result_unpack(const uint8_t *p, size_t n, struct result *r);

/* ---- what a link is told, in portions ------------------------------------------------ */

/* Portions, in which messages leave on a link: once LINK_PORTION bytes are on their
 * way, what is long waits where it is already, and not in the link's buffer, whose bound closes it.
 *
 *   a look      at a result: by the numbers of its question and its task (tpeer.owed)
 *   an answer   that is told as it comes: with its target, of which no more is read (tpeer.held)
 *   a take      at its queue's door, for as long as it waits: tasks that nobody carries do not start
 *   a copy      in its partition
 *   a piece     of an answer that is kept whole is not held: a router asks for few at a time
 *
 * The oldest goes first, looks and answers by turns, each of these with a window's bytes at most; so an
 * answer's own pieces keep their order, and no answer waits for the end of another. What is short is
 * never held, nor what goes to another link. On its way is what is in an outbox, also in one that waits
 * for a shared store, and what the link has not sent. */

struct tpeer *tasktab_peer(const struct tasktab *t, peer_no no); /* NULL: it is down */

/* May something long be said? If not: it is looked at again when it may. NULL: yes, and nobody hears it. */
SQ_CHECK bool tasktab_has_room(struct tpeer *p);
/* The last message is one of so many bytes, for this link. */
void tasktab_weigh(struct tpeer *p, size_t bytes, struct outbox *out);

/* Something waits for its room, and there is some that nobody was given in this turn. */
bool tasktab_may_let_go(const struct tpeer *p);

/* No more of the call's answer is read until the link has room. */
void tasktab_hold_call(struct tpeer *p, struct going_call *g);
/* Also of one that is not held. */
void tasktab_unhold(struct going_call *g);
void tasktab_unhold_all(struct tpeer *p);

/* Writes the head of an answer, as its target gave it, into its first piece. Without memory: fields_cut. */
void tasktab_answer_head(struct msg_task_piece *m, const struct call_answer *a, struct arena *mem);

#endif
