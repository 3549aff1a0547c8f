/* nodes.h: orders about segment nodes. */
#ifndef SEGQ_MNG_NODES_H
#define SEGQ_MNG_NODES_H

#include "queuemng/admin/answers.h"

/* POST /v1/admin/nodes/NAME/VERB; the name is in c->name. */
void admin_node(struct admin_call *c, const char *verb);

#endif
