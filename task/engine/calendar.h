/* calendar.h: calendar windows of a partition's rates: which there are, and when one begins. Pure.
 *
 * The wall clock says so, and the record WINDOW: the window that is running is over when the wall shows its end. One that
 * goes back begins nothing; one that was so far ahead that the window has not begun for a day and more was wrong
 * (meter_is_over()). */
#ifndef SEGQ_TASK_CALENDAR_H
#define SEGQ_TASK_CALENDAR_H

#include "task/engine/engine.h"

/* The number of a zone of rates, from 1; one that is new is written down, and has that of one which no rule has, nor
 * *taken: bits of the numbers of the rules to come, this one's too. SQ_ENOMEM; SQ_EFULL: too many. */
SQ_CHECK int engine_zone(struct engine *e, const char *name, uint32_t *taken);

/* Begins those that are over, and goes on with those that have begun. Behind it e->windows_at is the wall's moment of the next look. */
void calendar_advance(struct engine *e);

#endif
