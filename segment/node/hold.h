/* hold.h: the journal cannot write: nothing changes until it can. */
#ifndef SEGQ_SEG_NODE_HOLD_H
#define SEGQ_SEG_NODE_HOLD_H

#include "segment/core/opts.h"

struct msg;
struct outbox;
struct seg;
struct segtab;

/* Holds: a change could not be kept, so nothing changes (segment/node/hold.c). The table must be
 * what the journal has: after a turn that was not written it is made anew. */
void segtab_hold(struct segtab *t, bool hold);
/* Refuses joins; everything else goes on. */
void segtab_full(struct segtab *t, bool full);
/* The order would change what cannot be written now: true, and it is answered. */
bool segtab_puts_off(struct segtab *t, peer_no from, const struct msg *m,
                     struct outbox *out);
/* Lowers it; at once, or when it can be written down. */
void segtab_set_ahead(struct segtab *t, struct seg *g, uint64_t ahead);

#endif
