/* term.h: a term of leading: its beginning and its end. */
#ifndef SEGQ_MNG_TERM_H
#define SEGQ_MNG_TERM_H

#include "queuemng/process/manager.h"

/* An empty core in place of the present one. */
SQ_CHECK int mng_core_new(struct mng_service *s, struct err *e);
void mng_term_metrics(struct mng_service *s); /* the core hears which there are */
/* From what the store has. epoch 0: without a lease. */
SQ_CHECK int mng_term_begin(struct mng_service *s, uint64_t epoch, struct err *e);
/* The core could not note down what it has decided (s->fault): with a lease it is given up,
 * alone another core begins at once from what is stored. */
void mng_term_anew(struct mng_service *s);
/* True: its messages have ended too many cores; its new link is closed. */
bool mng_term_drops(struct mng_service *s, struct rpc_chan *ch, const struct rpc_peer *peer);
/* Takes part in the contest for the lease. */
SQ_CHECK int mng_lead_start(struct mng_service *s, struct err *e);
/* A frame that came while this manager does not lead. */
void mng_standby_answer(struct mng_service *s, struct rpc_chan *ch, const struct frame *f);

/* Queues and pools of the configuration.
 * Rule: an entry is applied if its object does not exist, or if the entry differs from what was
 * applied last. So a change by the admin API is kept until the entry itself changes. */

/* A pair of the store. */
SQ_CHECK int mng_yaml_load(struct mng_service *s, const char *key, const char *val);
void mng_yaml_apply(struct mng_service *s);
void mng_yaml_forget(struct mng_service *s); /* a term is over, or the process */

#endif
