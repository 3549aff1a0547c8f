/* digest.h: the whole state as one number. */
#ifndef SEGQ_SEG_RESTORE_DIGEST_H
#define SEGQ_SEG_RESTORE_DIGEST_H

#include "segment/core/opts.h"

struct segtab;

/* A number over all that a replay restores: equal tables, equal digests. */
uint64_t segtab_digest(const struct segtab *t);

#endif
