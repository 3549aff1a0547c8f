/* health.h: is this manager well? For /healthz, and for the dashboard. */
#ifndef SEGQ_MNG_HEALTH_H
#define SEGQ_MNG_HEALTH_H

#include "queuemng/lead/manager.h"

/* struct admin_opts.healthy; ctx: struct mng_service. why: what is wrong, if it is not. */
bool mng_healthy(void *ctx, struct buf *why);

#endif
