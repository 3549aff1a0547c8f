/* directory.h: which segment nodes keep the directory of subjects (PROTOCOL.md section 22):
 * all that can, from their first registration until they are given up as lost, or are drained
 * and empty.
 *
 * Every change has another version, is stored before anybody hears of it, and has all of them
 * say anew what they hold: so a restart of the manager, and a node that comes back in time,
 * change nothing. */
#ifndef SEGQ_QUEUEMNG_NODES_DIRECTORY_H
#define SEGQ_QUEUEMNG_NODES_DIRECTORY_H

#include "common/base/base.h"

struct json_t;
struct mng;
struct mnode;

/* true: the members have changed, and all of them were told. */
bool directory_look(struct mng *m);
/* After its NODE_OK; moved: its address is new. */
void directory_registered(struct mng *m, struct mnode *n, bool moved);
/* The stored record. SQ_EPROTO, SQ_ENOMEM. */
SQ_CHECK int directory_load(struct mng *m, struct json_t *j);

#endif
