/* pass.h: the pass of a released ticket. */
#ifndef SEGQ_SEG_TICKETS_PASS_H
#define SEGQ_SEG_TICKETS_PASS_H

#include "segment/core/state.h"

/* Returns its length, in mem; negative: no memory, or an impossible name. */
int segtab_make_pass(struct segtab *t, const struct seg *g, const struct session *x,
                     struct arena *mem, const char **out);

/* A ready ticket is told its pass: it is inside. */
void segtab_admit(struct segtab *t, struct seg *g, struct session *x);

#endif
