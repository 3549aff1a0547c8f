/* check.h: what must hold between rings, lines and limiters. Slow: for tests. Pure. */
#ifndef SEGQ_TASK_KEYS_CHECK_H
#define SEGQ_TASK_KEYS_CHECK_H

#include "task/keys/tree.h"

/* NULL, or what does not hold. */
const char *tree_check(const struct tree *t);

#endif
