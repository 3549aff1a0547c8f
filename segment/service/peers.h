/* peers.h: links to other segment nodes, as the table wants them; for how long the routers are
 * silent. Links are made and dropped at the end of a turn only, where no channel is inside a
 * callback of ours. */
#ifndef SEGQ_SEG_SERVICE_PEERS_H
#define SEGQ_SEG_SERVICE_PEERS_H

#include "segment/service/state.h"

void seg_peers_init(struct seg_service *s);
/* Dials the nodes that segtab wants, drops those that it does not want any more. */
void seg_peers_look(struct seg_service *s);
/* For how long no router was heard; now_ms: there is none. */
msec_t seg_peers_silent_ms(const struct seg_service *s, msec_t now_ms);

#endif
