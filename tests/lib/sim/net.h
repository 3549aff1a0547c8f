/* net.h: links between processes: delay, order, breaking, redialling. */
#ifndef SEGQ_SIM_NET_H
#define SEGQ_SIM_NET_H

#include "tests/lib/sim/state.h"

#define NET_FAST_MS 3.0 /* so long a message takes at most, on a link that is not slow */

void net_want(struct sim *s, struct proc *from, struct proc *to); /* dial if need be */
void net_drop(struct sim *s, struct conn *c); /* closed by its dialler, in order */
void net_break(struct sim *s, struct conn *c, double max_ms);
void net_proc_died(struct sim *s, struct proc *p);
usec_t proc_stopped_us(const struct sim *s, const struct proc *p); /* so far */
void proc_stopped(struct proc *p, usec_t from, usec_t to); /* counts as nobody's silence */
void net_proc_hangs_up(struct sim *s, struct proc *p); /* all its links; it lives on */
void net_event(struct sim *s, const struct event *e);
struct conn *net_conn(struct sim *s, const struct proc *p, peer_no peer);
peer_no net_peer(const struct conn *c, unsigned side);
struct conn *net_up(struct sim *s, const struct proc *from, const struct proc *to);
void net_send(struct sim *s, const struct proc *from, peer_no to, const struct msg *m,
              uint64_t rid);
void net_send_outbox(struct sim *s, const struct proc *from, struct outbox *o);

#endif
