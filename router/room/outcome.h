/* outcome.h: how a page's flow ended, as HTML or as a redirect with cookies. Shell.
 *
 *   waiting    the page; after "enter": back to it, with this ticket
 *   admitted   the pass into its cookie, and off to the target
 *   over       the page says why; one whose visit is finished begins anew */
#ifndef SEGQ_ROUTER_ROOM_OUTCOME_H
#define SEGQ_ROUTER_ROOM_OUTCOME_H

#include "router/links/flows.h"

/* Composes r->ans; rf->page says what was asked for. An rflow_done. */
void page_done(struct router *r, struct rflow *rf);

#endif
