/* seg_link.h: one link to each segment node: dialled and dropped as the chain map says, and
 * what comes in. Shell.
 *
 *   what fails                               what follows
 *   link breaks                              everything asked on it is lost; rpc dials again,
 *                                            meanwhile no request waits for it
 *   another node answers at the address      the link is closed, and an error is logged */
#ifndef SEGQ_SEG_LINK_H
#define SEGQ_SEG_LINK_H

#include "router/state/router.h"

struct seg_links *seg_links_new(struct router *r); /* NULL: no memory */
void seg_links_free(struct seg_links *s);
/* Dials and drops as the chain map's nodes say. */
void seg_links_sync(struct seg_links *s);

#endif
