/* endpoints.h: paths of endpoints: their definitions, and orders about them. */
#ifndef SEGQ_QUEUEMNG_ADMIN_ENDPOINTS_H
#define SEGQ_QUEUEMNG_ADMIN_ENDPOINTS_H

#include "queuemng/admin/answers.h"

/* /v1/admin/endpoints/NAME[/VERB]; verb: "" or what stands behind the name */
void admin_endpoint(struct admin_call *c, const char *verb);

#endif
