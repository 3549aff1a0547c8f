/* steps.h: the decisions of the core: stored, then sent.
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
#ifndef SEGQ_QUEUEMNG_PROCESS_STEPS_H
#define SEGQ_QUEUEMNG_PROCESS_STEPS_H

#include "queuemng/process/manager.h"

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

/* Is this manager well? For /healthz, and for the dashboard: struct admin_opts.healthy; ctx: struct mng_service. why: what is wrong, if it is not. */
bool mng_healthy(void *ctx, struct buf *why);

#endif
