/* subjects.h: names, and one ticket for each. */
#ifndef SEGQ_SIM_SUBJECTS_H
#define SEGQ_SIM_SUBJECTS_H

#include "tests/lib/sim/state.h"

uint64_t subject_of(const struct sreq *q, char text[SIM_SUBJECT_LEN]);
uint32_t subject_draw(struct sim *s, unsigned queue);
void subject_given(struct sim *s, struct ticket *t, const struct append_req *q);
void subject_found(struct sim *s, const struct append_req *q, const struct append_ans *a);
/* The answer of a join that was asked again, since its link had ended. */
void subject_told_again(struct sim *s, const struct flow *f);
void subject_waits(struct sim *s, struct ticket *t);
/* In a sweep: what a node has, and what the others know of it. */
void subjects_known(struct sim *s, const struct proc *p);

#endif
