/* ops.h: operators: queue definitions, pause, drain .... */
#ifndef SEGQ_SIM_OPS_H
#define SEGQ_SIM_OPS_H

#include "tests/lib/sim/state.h"

void ops_queue_put(struct sim *s, unsigned q);
void ops_side_queue(struct sim *s);
void sim_forget(struct sim *s, unsigned seg_node);
struct spatch ops_unpatched(const struct sim *s);
void ops_kept(struct sim *s, const struct proc *p); /* its store has more */
void ops_new_leader(struct sim *s);
void ops_say_again(struct sim *s); /* all that they want: the last leader may not have kept it */

#endif
