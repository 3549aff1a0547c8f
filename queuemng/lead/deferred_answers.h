/* deferred_answers.h: answers of the admin API that wait until the store has the change. With a
 * file that is before the handler returns; with Redis a moment later. If the term ends first,
 * nobody knows whether the next leader will have the change: 503. */
#ifndef SEGQ_MNG_DEFERRED_ANSWERS_H
#define SEGQ_MNG_DEFERRED_ANSWERS_H

#include "queuemng/lead/manager.h"

/* The answer leaves when store_done() has reached `need` (of mng_service_flush()). */
void mng_defer(struct mng_service *s, struct admin_ans *a, uint64_t need);
void mng_deferred_send(struct mng_service *s); /* whose changes are stored now */
void mng_deferred_fail(struct mng_service *s);    /* all: 503, the outcome is unknown */

#endif
