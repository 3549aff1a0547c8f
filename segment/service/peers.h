/* peers.h: the node's channels: routers and nodes that connect, managers and nodes that we
 * dial. Links are made and dropped at the end of a turn only, where no channel is inside a
 * callback of ours. */
#ifndef SEGQ_SEG_PEERS_H
#define SEGQ_SEG_PEERS_H

#include "common/config/cfg.h"
#include "segment/service/state.h"

SQ_CHECK int seg_peers_listen(struct seg_service *s, const char *addr, struct err *e);
SQ_CHECK int seg_peers_dial(struct seg_service *s, const struct cfg_list *managers,
                            struct err *e);
/* Dials the nodes that segtab wants, drops those that it does not want any more. */
void seg_peers_look(struct seg_service *s);
/* Dials the leader that a standby manager has named in this turn, if we do not know it. */
void seg_peers_follow(struct seg_service *s);
void seg_peers_free(struct seg_service *s);
/* For how long no router was heard; now_ms: there is none. */
msec_t seg_peers_silent_ms(const struct seg_service *s, msec_t now_ms);
/* Nothing that was said in this turn is sent: all links end, and nobody is connected. */
void seg_peers_take_back(struct seg_service *s);

#endif
