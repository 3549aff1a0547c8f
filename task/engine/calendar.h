/* calendar.h: calendar windows of a partition's rates: which there are, and when one begins. Pure.
 *
 * The wall clock says so, and the record WINDOW: the window that is running is over when the wall shows its end. One that
 * goes back begins nothing; one that was so far ahead that the window has not begun for a day and more was wrong
 * (meter_is_over()). */
#ifndef SEGQ_TASK_CALENDAR_H
#define SEGQ_TASK_CALENDAR_H

#include "task/engine/engine.h"

/* The number of a zone of rates, from 1; one that is new is written down. SQ_ENOMEM; SQ_EFULL: too many. */
SQ_CHECK int engine_zone(struct engine *e, const char *name);

/* ---- for the other files of this room ---------------------------------------------- */
int calendar_apply(struct engine *e, const struct trec *r);
/* Rules are other ones: which windows they have. False: one whose zone no record has named. */
bool calendar_rules(struct engine *e);
/* Begins those that are over. Behind it e->windows_at is the wall's moment of the next look. */
void calendar_advance(struct engine *e);
void calendar_write(const struct engine *e, struct buf *out);

#endif
