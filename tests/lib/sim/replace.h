/* replace.h: players who take a place in another lane by a claim. */
#ifndef SEGQ_SIM_REPLACE_H
#define SEGQ_SIM_REPLACE_H

#include "tests/lib/sim/state.h"

void replace_plan(struct sim *s, struct player *p, usec_t from);
bool replace_is_heir(const struct ticket *heir, const struct ticket *old);
void replace_left(struct sim *s, struct ticket *old); /* it was dropped for another one */
void replace_told(struct sim *s, struct ticket *old, const struct ticket *heir);
void replace_refused(struct sim *s, const struct ticket *old); /* its bearer is told 410 */

#endif
