/* members.h: the records of groups, carried out and written. Pure. For the files of this room. */
#ifndef SEGQ_TASK_MEMBERS_H
#define SEGQ_TASK_MEMBERS_H

#include "task/engine/engine.h"

struct trec group_record(const struct group *k, uint8_t flags);
/* GROUP, MEMBER, GROUP_GONE, like task_apply(). */
SQ_CHECK int group_apply(struct engine *e, const struct trec *r);
/* Writes all groups, for a snapshot. */
void group_write_all(const struct engine *e, struct buf *out);

#endif
