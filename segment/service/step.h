/* step.h: one step of the node's table (segtab), and the moment at which it happens. */
#ifndef SEGQ_SEG_SERVICE_STEP_H
#define SEGQ_SEG_SERVICE_STEP_H

#include "segment/service/state.h"

/* The turn's clocks. */
struct seg_now seg_now(const struct seg_service *s);
/* `in` without its time. Its outbox is sent. */
void seg_step(struct seg_service *s, struct segtab_in in);

#endif
