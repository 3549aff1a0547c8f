/* mng_link.h: links to all managers: registers, receives the map and the figures. Shell.
 */
#ifndef SEGQ_MNG_LINK_H
#define SEGQ_MNG_LINK_H

#include "router/service/router_service.h"

struct mng_links;

/* Dials every address of the configuration. NULL: no memory. */
struct mng_links *mng_links_new(struct router *r);
void mng_links_free(struct mng_links *m);
size_t mng_links_up(const struct mng_links *m);

#endif
