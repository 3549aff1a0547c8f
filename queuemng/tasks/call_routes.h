/* call_routes.h: routes of calls (policy/route_def.h), as the manager has them: routers are told of them
 * with the map of pools. Pure. */
#ifndef SEGQ_MNG_CALL_ROUTES_H
#define SEGQ_MNG_CALL_ROUTES_H

#include "queuemng/state/state.h"

/* For core/definitions.c. Endpoints that a new one names must be there. */
SQ_CHECK int route_define(struct mng *m, void *x, const void *def, struct err *e);
void route_remove(struct mng *m, void *x);
/* From the store. */
SQ_CHECK int route_load(struct mng *m, const char *key, struct json_t *j, struct err *e);
/* The name of a route that names the endpoint; NULL: none does. */
const char *route_with(const struct mng *m, const char *endpoint);

#endif
