/* service.h: a segment node: segtab (the brain) between its links. Shell.
 *
 *   routers ---\                        /--- queuemng (dialled, all of them)
 *               >--- rpc --- segtab ---<
 *   segments --/   (listen)             \--- segments (dialled while a move wants them)
 *
 * Batches of routers are answered inside the turn that read them, in one write per router.
 * Everything else is one segtab_step(), whose outbox is sent before anything else happens.
 *
 * Failures, and what follows:
 *   unknown message type            MSG_ERROR SQ_EUNKNOWN, the link stays
 *   damaged body                    that link is closed, with the reason
 *   a type this peer may not send   the same
 *   no memory for an answer         the same: the peer asks again on the next link
 *   an outgoing message too large   logged and counted, not sent; the manager asks again
 *   all managers unreachable        polls, joins and leaves go on; nothing is released
 *   what was done cannot be kept    the turn's answers are not sent; journal.h
 *   the journal cannot be read      the process does not start, and says why */
#ifndef SEGQ_SEG_SERVICE_H
#define SEGQ_SEG_SERVICE_H

#include "common/net/ev.h"
#include "common/ticket/keys.h"
#include "segment/service/config.h"

struct seg_service;

struct seg_service_opts {
    const struct seg_cfg *cfg;         /* read during seg_service_new() only */
    const struct cluster_keys *secret; /* read during seg_service_new() only */
    const struct pass_key *pass;       /* ref, must outlive */
    uint64_t incarnation;
    void (*on_ready)(void *ctx); /* once: registered, or waited long enough */
    void (*on_gone)(void *ctx);  /* after seg_service_stop(), when all is sent */
    void *ctx;
};

/* Listens and dials. */
SQ_CHECK int seg_service_new(struct seg_service **out, struct ev *ev,
                             const struct seg_service_opts *o, struct err *e);
/* Not from inside a callback. */
void seg_service_free(struct seg_service *s);
/* Accepts nobody new, answers what is on its way, then calls on_gone. */
void seg_service_stop(struct seg_service *s);
const char *seg_service_addr(const struct seg_service *s);  /* as bound */
const char *seg_service_admin(const struct seg_service *s); /* as bound */

#endif
