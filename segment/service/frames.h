/* frames.h: incoming messages of all channels. */
#ifndef SEGQ_SEG_FRAMES_H
#define SEGQ_SEG_FRAMES_H

#include "segment/service/state.h"

/* struct rpc_calls.on_frame; ctx: struct seg_service. A channel that sends a damaged message,
 * or one that its role may not send, is closed. */
void seg_on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f);

#endif
