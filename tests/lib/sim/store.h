/* store.h: the store that they share. */
#ifndef SEGQ_SIM_STORE_H
#define SEGQ_SIM_STORE_H

#include "tests/lib/sim/state.h"

void store_pairs(const struct kv *p, kv_fn fn, void *ctx);
void store_init(struct sim *s);
void store_fini(struct sim *s);
void store_asked(struct sim *s, const struct store_msg *q);

#endif
