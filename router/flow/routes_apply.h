/* routes_apply.h: a new map, frame by frame. Pure. Frames with `more` are staged; the last one
 * makes all of it valid at once. Without memory the router forgets everything and asks anew: it
 * never goes on with half a map. */
#ifndef SEGQ_ROUTES_APPLY_H
#define SEGQ_ROUTES_APPLY_H

#include "router/flow/routes.h"

/* 0 applied; SQ_ESTALE: does not follow what is here (ask for everything again: register
 * with version 0); SQ_ENOMEM (same cure), SQ_EPROTO. A frame with `more` is kept aside until
 * the last one. */
SQ_CHECK int routes_apply(struct routes *r, const struct msg_map *m);
/* Everything, staged frames too; the epoch stays: an older manager is still refused. */
void routes_forget(struct routes *r);

#endif
