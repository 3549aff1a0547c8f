/* cluster_child.h: one child process of a supervisor: what is done to it. Shell. */
#ifndef SEGQ_CLUSTER_CHILD_H
#define SEGQ_CLUSTER_CHILD_H

#include "common/supervisor/cluster_int.h"
#include "common/supervisor/cluster_status.h"

struct child *child_new(struct cluster *cl, unsigned index); /* NULL: no memory */
void child_free(struct child *c);
/* Puts an event into the table; performs the act. */
void child_feed(struct child *c, enum sup_event ev);
/* Takes a process of an earlier supervisor over; false: it is gone. */
bool child_adopt(struct child *c, const struct cluster_entry *was);
/* Notes what the configuration says now; the roll restarts it if that differs. */
void child_want(struct child *c);
void child_entry(const struct child *c, struct cluster_entry *out);

#endif
