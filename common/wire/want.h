/* want.h: a node of the cluster to which a core wants a link. Pure. */
#ifndef SEGQ_WANT_H
#define SEGQ_WANT_H

#include "common/base/base.h"

struct node_want {
    char name[NAME_MAX_LEN + 1], addr[64]; /* "host:port" */
};

#endif
