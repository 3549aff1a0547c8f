/* frames.h: incoming messages: batches of routers are answered at once, the rest is a step. */
#ifndef SEGQ_SEG_SERVICE_FRAMES_H
#define SEGQ_SEG_SERVICE_FRAMES_H

#include "segment/service/state.h"

/* node_kind.msg; service: struct seg_service. */
void seg_msg(void *service, struct node_peer *p, const struct msg *m, uint64_t rid);

#endif
