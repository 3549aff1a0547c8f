/* push.h: what the node pushes to all its routers is encoded once. */
#ifndef SEGQ_SEG_SERVICE_PUSH_H
#define SEGQ_SEG_SERVICE_PUSH_H

#include "segment/service/state.h"

/* node_kind.send; service: struct seg_service. */
SQ_CHECK int seg_push(void *service, struct rpc_chan *ch, const struct msg *m, uint64_t rid);

#endif
