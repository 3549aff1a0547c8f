/* pass_cache.h: passes for segtab, with a small memory of the last ones. Pure (crypto only).
 * A client polls its admitted ticket several times; a signature costs 30 us. The memory
 * changes no answer, since a pass is a pure function of its arguments. */
#ifndef SEGQ_SEG_SERVICE_PASS_CACHE_H
#define SEGQ_SEG_SERVICE_PASS_CACHE_H

#include "common/ticket/pass.h"
#include "segment/node/segtab.h"

struct seg_passes;

/* key: ref, must outlive. NULL: no memory. */
struct seg_passes *seg_passes_new(const struct pass_key *key);
void seg_passes_free(struct seg_passes *s);

/* struct segtab_opts.make_pass; ctx: struct seg_passes. */
int seg_passes_make(void *ctx, const struct seg_pass *p, char *out);

struct seg_pass_counts {
    uint64_t signed_, kept, failed; /* made; answered from memory; could not be made */
};
const struct seg_pass_counts *seg_passes_counts(const struct seg_passes *s);

#endif
