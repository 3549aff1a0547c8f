/* peers.h: the links to routers and segment nodes: up, down, and the messages that they bring.
 * Peers are numbered by the shell. */
#ifndef SEGQ_QUEUEMNG_CORE_PEERS_H
#define SEGQ_QUEUEMNG_CORE_PEERS_H

#include "common/base/base.h"

struct mng;
struct mng_out;
struct msg;

/* role: enum rpc_role. node: the peer's name. */
void mng_peer_up(struct mng *m, msec_t now_ms, peer_no p, int role, const char *node,
                 uint64_t incarnation, struct mng_out *out);
/* All that it was told and did not answer is told again when it is back. */
void mng_peer_down(struct mng *m, msec_t now_ms, peer_no p, struct mng_out *out);
/* In the order in which the peer sent them. */
void mng_msg(struct mng *m, msec_t now_ms, peer_no p, const struct msg *msg,
             struct mng_out *out);

#endif
