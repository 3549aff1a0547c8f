/* seg_ask.h: a flow's request is put into its node's next batch. Shell.
 * Nothing is sent from here, so nobody is called back: batches leave when the turn ends
 * (seg_batch.h). */
#ifndef SEGQ_SEG_ASK_H
#define SEGQ_SEG_ASK_H

#include "router/links/seg_links.h"

/* 0; SQ_EUNAVAIL: the node cannot be asked; SQ_EUNKNOWN: it is of an older release, which would not
 * understand it. While a link is being dialled for the first
 * time, one batch of requests waits for it. */
SQ_CHECK int seg_link_ask(struct seg_links *s, struct rflow *rf);
/* Nodes that are reached, and nodes in the map. */
void seg_links_count(const struct seg_links *s, size_t *up, size_t *of);

/* Given back when a sent batch has its answers. b is in no list. */
void batch_free(struct seg_links *s, struct batch *b);

#endif
