/* clock.h: the node's service clock: idle time-outs and claim windows run on it, and it
 * stands still while nobody could reach us (segtab.h). */
#ifndef SEGQ_SEG_TABLE_CLOCK_H
#define SEGQ_SEG_TABLE_CLOCK_H

#include "segment/table/state.h"

/* Every call begins with it: the present time, and segments whose time to close has come. */
void segtab_clock(struct segtab *t, struct seg_now now);
/* The same for a call with which a router says something: its silence counts up to now. */
void segtab_heard(struct segtab *t, struct seg_now now);
/* A router's link is up. Nobody could poll while there was none, and now people come one
 * after the other (those, too, whose routers are back a little later): the clock stands for as
 * long again. */
void segtab_rest(struct segtab *t);

#endif
