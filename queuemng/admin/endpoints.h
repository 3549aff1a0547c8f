/* endpoints.h: definitions of endpoints, and their orders. */
#ifndef SEGQ_QUEUEMNG_ADMIN_ENDPOINTS_H
#define SEGQ_QUEUEMNG_ADMIN_ENDPOINTS_H

#include "queuemng/admin/answers.h"

void admin_endpoints(struct admin_call *c); /* GET /v1/admin/endpoints */
/* /v1/admin/endpoints/NAME[/VERB]; verb: "" or what stands behind the name */
void admin_endpoint(struct admin_call *c, const char *verb);

#endif
