/* send.h: outgoing messages. One that cannot be built is logged and counted, not sent: the
 * managers and nodes ask again. */
#ifndef SEGQ_SEG_SEND_H
#define SEGQ_SEG_SEND_H

#include "segment/service/state.h"

/* NULL: this channel is gone. */
struct seg_peer *seg_peer_find(const struct seg_service *s, peer_no no);
/* All that is in s->out, which is empty then. */
void seg_send(struct seg_service *s);
/* code: enum sq_err, about the frame f. */
void seg_send_error(struct seg_service *s, struct seg_peer *p, const struct frame *f, int code);

#endif
