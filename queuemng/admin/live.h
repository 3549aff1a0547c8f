/* live.h: the answers that the dashboard asks for once a second. */
#ifndef SEGQ_MNG_LIVE_H
#define SEGQ_MNG_LIVE_H

#include "queuemng/admin/answers.h"

void admin_live(struct admin_call *c);    /* GET /v1/admin/live */
void admin_history(struct admin_call *c); /* GET /v1/admin/history */

#endif
