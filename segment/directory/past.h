/* past.h: the people of a segment that was moved away or removed, and of a copy that was given up: what
 * is known of them is freed, and their names are given back to the directory, some at each tick. Of a
 * line of millions this takes seconds, in which nobody else at this node shall wait.
 *
 * Until its turn comes a name is still said to be here. The next join with it finds that out: its owner
 * asks (dir_check()). */
#ifndef SEGQ_SEG_DIRECTORY_PAST_H
#define SEGQ_SEG_DIRECTORY_PAST_H

#include "segment/core/state.h"

#define PAST_AT_ONCE 4096u  /* records of a table whose end is soon done: it stays where it is */
#define PAST_TICK    20000u /* records in a tick: some milliseconds */

/* Takes both tables, of this queue, if they are long: they are empty then. */
void segtab_past(struct segtab *t, const struct queue *q, struct subjects *s, struct contacts *c);
void segtab_past_tick(struct segtab *t);
void segtab_past_free(struct segtab *t); /* tells nobody */

#endif
