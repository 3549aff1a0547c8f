/* router_known.h: the segment nodes' lines, as pushed to a router, and what it says of them. */
#ifndef SEGQ_SIM_ROUTER_KNOWN_H
#define SEGQ_SIM_ROUTER_KNOWN_H

#include "tests/lib/sim/router_state.h"

#define SKEW_SHIFT 40 /* a node's clock is so far ahead of ours: as much as nobody guesses, and
                       * another amount on each link */

void router_known_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *node);
void router_known_down(struct sim *s, struct proc *p, const struct proc *node);
/* Who has left: noted when a flow ends; told to one manager, or to all. */
void router_note_leave(struct sim *s, struct srouter *r, const struct sflow *x);
void router_tell_left(struct sim *s, struct proc *p, peer_no mng, enum leaves_which which);
void router_tells_left(struct sim *s, struct proc *p);
/* Nodes that the map has no more. */
void router_known_forget(const struct sim *s, struct srouter *r);
void router_pushed(struct sim *s, struct proc *p, const struct proc *node, peer_no peer,
                   struct msg_replica m);
void router_say_seen(struct sim *s, struct proc *p, const struct proc *node);
/* NULL: nothing is said to it. */
struct stream *router_stream(struct srouter *r, const struct proc *node);

#endif
