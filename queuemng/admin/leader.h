/* leader.h: several managers: which one leads. */
#ifndef SEGQ_MNG_LEADER_H
#define SEGQ_MNG_LEADER_H

#include "queuemng/admin/answers.h"

/* GET /v1/admin/manager: what this manager is; each answers for itself. */
void admin_manager(struct admin_call *c);
/* The answer of a standby: a question is sent on by 307, an order refused by 409. */
void admin_elsewhere(struct admin_call *c);

#endif
