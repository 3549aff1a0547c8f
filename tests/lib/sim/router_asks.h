/* router_asks.h: requests to segment nodes, collected per node and kind while a frame of that kind is
 * under way (self-clocked), as the real router does. */
#ifndef SEGQ_SIM_ROUTER_ASKS_H
#define SEGQ_SIM_ROUTER_ASKS_H

#include "tests/lib/sim/router_state.h"

/* The flow's request; without a link it is lost. */
void router_ask(struct sim *s, struct proc *p, uint32_t i);
/* Has it left, or is it being collected? */
bool router_is_sent(struct sim *s, const struct proc *p, uint32_t i);
/* rid: of the frame; one of an earlier connection is passed over. */
void router_answered(struct sim *s, struct proc *p, struct proc *node, unsigned kind, uint64_t rid,
                     const struct msg *m, uint32_t n);
/* The link is gone, and what was asked. */
void router_asks_lost(struct sim *s, struct proc *p, const struct proc *other);
/* By the map's number; NULL: it has none of this number. */
struct proc *router_node(struct sim *s, const struct srouter *r, node_no no);

#endif
