/* seg_link.h: one link to each segment node of the chain map, and what comes in. Shell. When one
 * breaks, node_links.h says what follows. */
#ifndef SEGQ_SEG_LINK_H
#define SEGQ_SEG_LINK_H

#include "router/state/router.h"

struct seg_links *seg_links_new(struct router *r); /* NULL: no memory */
void seg_links_free(struct seg_links *s);
/* Dials and drops as the chain map's nodes say. */
void seg_links_sync(struct seg_links *s);

#endif
