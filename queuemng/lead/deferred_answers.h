/* deferred_answers.h: answers of the admin API that wait until what they say is kept. */
#ifndef SEGQ_MNG_DEFERRED_ANSWERS_H
#define SEGQ_MNG_DEFERRED_ANSWERS_H

#include "queuemng/lead/manager.h"

/* need: of mng_service_flush(). */
void mng_hold(struct mng_service *s, struct admin_ans *a, uint64_t need);
void mng_held_answer(struct mng_service *s); /* those whose changes are kept now */
void mng_held_end(struct mng_service *s);    /* the rest: 503, the outcome is unknown */

#endif
