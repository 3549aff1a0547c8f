/* pop.h: releasing: from "n tickets for this lane" to SEG_POPs, one at a time per lane.
 *
 *   grant --> first segment that may have somebody --SEG_POP--> its node
 *             ^                                                   |
 *             '--- the rest goes on to the next, if it is dry <---'
 *
 * A segment is passed over only if it is certainly dry (sealed, and reported empty since)
 * or unreachable for skip_after_ms: that keeps the order (I3). A repeated pop carries the
 * same tick and is answered the same (I2). */
#ifndef SEGQ_QUEUEMNG_RELEASE_POP_H
#define SEGQ_QUEUEMNG_RELEASE_POP_H

#include "common/base/base.h"

struct mlane;
struct mng;
struct mnode;
struct mqueue;
struct msg_seg_popped;
struct release;

/* Releases a tick's people of a queue. */
void pops_tick(struct mng *m, struct mqueue *q);
/* n tickets more, whatever limits say: to be given with the next tick. */
void pops_by_hand(const struct mng *m, struct mqueue *q, uint64_t n);
/* A monitor was read: the limits of a queue without ticks follow. */
void pops_look(const struct mng *m, struct mqueue *q, msec_t now_ms);
/* Tickets per second that would be allowed now; *copy: the controller that said so. */
double pops_peek(const struct mng *m, const struct mqueue *q, struct release *copy);
/* What a lane lets in now says nothing of later: a rebuild is at its head, or all who wait are on nodes that are
 * away. Looks anew. */
bool pop_is_held(const struct mng *m, struct mlane *l);
/* The answer to SEG_POP. */
void on_seg_popped(struct mng *m, struct mnode *n, const struct msg_seg_popped *g);
/* Repeats orders that it may have missed, with the same tick, after its link is back. */
void pop_node_up(struct mng *m, struct mnode *n);

/* The allowed rate of a queue, and what limits it, brought up to date outside of its ticks, for pages
 * and operators: the rate that a queue without ticks would allow; routers are told only if it has changed. */
void idle_figures(struct mng *m, struct mqueue *q);
/* An operator or the clock has just changed the queue: routers are told with this step, and not a
 * second later. */
void queue_figures_now(struct mng *m, struct mqueue *q);

/* Queues open and close by the clock: the phases of policy/schedule.h are put into effect. */

/* Takes its new definition. */
void sched_set(struct mng *m, struct mqueue *q);
/* second: look for schedules again. */
void sched_tick(struct mng *m, bool second);

#endif
