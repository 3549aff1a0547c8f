/* passes.h: the pass of a released ticket; passes that end before, or last longer than, what they
 * say; routers are told. And a maker of passes (struct segtab_opts.make_pass) for the process. Pure. */
#ifndef SEGQ_SEG_TICKETS_PASSES_H
#define SEGQ_SEG_TICKETS_PASSES_H

#include "common/ticket/pass.h"
#include "segment/core/state.h"

/* Makes the pass of a released ticket in mem, and returns its length; negative: no memory, or an
 * impossible name. */
int segtab_make_pass(struct segtab *t, const struct seg *g, const struct session *x,
                     struct arena *mem, const char **out);
/* A ready ticket is told its pass: it is inside. */
void segtab_admit(struct segtab *t, struct seg *g, struct session *x);
/* An admitted one is over while its pass is not: routers refuse the pass. */
void segtab_revoke(struct segtab *t, struct seg *g, struct session *x, int reason);
/* Extends the session until then, if that is later. told: also in the audit trail (a renewal is
 * not: there is one every few minutes). */
void segtab_extend(struct segtab *t, struct seg *g, struct session *x, int64_t until_s,
                   bool told);
/* A router's link is up: all that are revoked or extended. */
void segtab_passes_all(struct segtab *t, peer_no to, struct outbox *out);
/* The same of a segment that was absorbed here: to all routers with the next flush. */
void segtab_passes_moved(struct segtab *t, const struct seg *g, const struct xfer_in *in);
/* The changes since the last flush, to all routers. */
void segtab_passes_flush(struct segtab *t, struct outbox *out);

/* ---- signed passes ------------------------------------------------------------------- */

/* Signed passes, with a small memory of the last ones: a client polls its admitted ticket several
 * times, and a signature costs 30 us. The memory changes no answer, since a pass is a pure function
 * of its arguments. */

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
