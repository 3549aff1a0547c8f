/* side_records.h: the records of groups, and of calendar windows, carried out and written. Pure. For the files of this room. */
#ifndef SEGQ_TASK_SIDE_RECORDS_H
#define SEGQ_TASK_SIDE_RECORDS_H

#include "task/engine/engine.h"

struct trec group_record(const struct group *k, uint8_t flags);
/* GROUP, MEMBER, GROUP_GONE, like task_apply(). */
SQ_CHECK int group_apply(struct engine *e, const struct trec *r);
/* Writes all groups, for a snapshot. */
void group_write_all(const struct engine *e, struct buf *out);

/* Calendar windows as records have them (WINDOW). Pure. For the files of this room. */
int window_apply(struct engine *e, const struct trec *r);
/* Rules are other ones: notes which windows they have. False: one whose zone no record has named. */
bool windows_want(struct engine *e);
/* Appends all that are there, to a snapshot. */
void windows_write(const struct engine *e, struct buf *out);

#endif
