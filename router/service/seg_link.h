/* seg_link.h: links to the segment nodes: one each, with requests in batches. Shell.
 *
 * Self-clocked: at the end of a turn the requests of one kind leave in one frame if
 * nothing of that kind is outstanding to the node, else they collect until the answer is
 * back, or there are 64, or 250 us have passed (looked at when a turn ends: there is no
 * timer, since a loop with nothing to do is woken by the very answer that is awaited). So
 * a quiet cluster answers at once and a busy one works in large batches. */
#ifndef SEGQ_SEG_LINK_H
#define SEGQ_SEG_LINK_H

#include "router/service/router_service.h"

struct seg_links;

struct seg_links *seg_links_new(struct router *r); /* NULL: no memory */
void seg_links_free(struct seg_links *s);
/* Dials and drops as the chain map's nodes say. */
void seg_links_sync(struct seg_links *s);
/* Puts the flow's request into the node's next batch. 0, or SQ_EUNAVAIL: the node cannot
 * be asked. While a link is being dialled for the first time requests wait for it. */
SQ_CHECK int seg_link_ask(struct seg_links *s, struct rflow *rf);
void seg_links_count(const struct seg_links *s, size_t *up, size_t *of);

#endif
