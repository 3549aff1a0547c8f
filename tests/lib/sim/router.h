/* router.h: a router: routes, flows, batches like the real one. */
#ifndef SEGQ_SIM_ROUTER_H
#define SEGQ_SIM_ROUTER_H

#include "tests/lib/sim/state.h"

struct srouter *srouter_new(const struct sim *s);
void srouter_free(struct sim *s, struct proc *p); /* requests under way: reset */
void srouter_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void srouter_down(struct sim *s, struct proc *p, const struct proc *other);
void srouter_msg(struct sim *s, struct proc *p, const struct proc *from, peer_no peer,
                 uint64_t rid, const struct msg *m);
void srouter_tick(struct sim *s, struct proc *p); /* each 100 ms */
/* Would this router answer for a name of the node by itself, and with which place? 0: it says that
 * the ticket does not wait. */
bool srouter_tells(const struct proc *p, const struct proc *node, seg_id seg, uint32_t number,
                   uint64_t *position);
void srouter_event(struct sim *s, struct proc *p, const struct event *e);
bool srouter_wants(const struct srouter *r, const struct proc *to);
struct revoked;
const struct revoked *srouter_revoked(const struct srouter *r);
const struct pass_clock *srouter_clock(const struct srouter *r, usec_t *told_at);
const struct revoked *srouter_extended(const struct srouter *r);

#endif
