/* mng_link.h: links to all managers: registers, applies the maps and figures that they push.
 * Shell.
 *
 *   what fails                            what follows
 *   link breaks                           the last map goes on being used; registers again when
 *                                         the link is back
 *   the manager stands by                 it names the leader, which is dialled if no address of
 *                                         the configuration is its
 *   a map of a newer format               logged once; the map that is here goes on being used
 *   a change that does not follow what    registers with version 0 and gets everything; the old
 *     is here, or no memory for it        map serves meanwhile */
#ifndef SEGQ_MNG_LINK_H
#define SEGQ_MNG_LINK_H

#include "router/state/router.h"

struct mng_links;

/* Dials every address of the configuration. NULL: no memory. */
struct mng_links *mng_links_new(struct router *r);
void mng_links_free(struct mng_links *m);
size_t mng_links_up(const struct mng_links *m);
/* Says with its load, now and until the process ends, that it ends in good order. */
void mng_links_leave(struct mng_links *m);
/* To all managers; one that is lost is said again when the device asks again. */
void mng_links_device(struct mng_links *m, const struct msg_device *d);

#endif
