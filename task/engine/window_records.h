/* window_records.h: calendar windows as records have them (WINDOW). Pure. For the files of this room. */
#ifndef SEGQ_TASK_WINDOW_RECORDS_H
#define SEGQ_TASK_WINDOW_RECORDS_H

#include "task/engine/engine.h"

int window_apply(struct engine *e, const struct trec *r);
/* Rules are other ones: notes which windows they have. False: one whose zone no record has named. */
bool windows_want(struct engine *e);
/* Appends all that are there, to a snapshot. */
void windows_write(const struct engine *e, struct buf *out);

#endif
