/* api.h: the admin API of /v1/admin, and the dashboard's files. */
#ifndef SEGQ_MNG_API_H
#define SEGQ_MNG_API_H

#include "common/http/admin.h"

/* struct admin_opts.handler; ctx: struct mng_service. */
void admin_api(void *ctx, const struct admin_req *q, struct admin_ans *a);

#endif
