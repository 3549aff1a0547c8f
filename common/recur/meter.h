/* meter.h: units that may start in a window of the calendar, shared out among nodes. Pure, no memory.
 *
 * The manager has the meter: the window that is running, and what of its units it has given to nodes. A node
 * has a purse: what it was given in that window, and what it has taken from it. The manager gives in pieces,
 * to those that run low, and stores what it gives before it says so: so whatever is lost, killed or told twice,
 * all purses of a window together hold at most its units. What is left in a purse goes with its window.
 *
 * Only the meter asks zone and clock when a window begins. Each has a number that no window of this or of
 * another meter had before, and nobody goes back to a lower one. A clock that goes back begins nothing anew;
 * one that was so far ahead that the window has not begun for a day and more was wrong, and another begins.
 *
 * So in each window at most its units start, or a single call of more than these, alone. */
#ifndef SEGQ_RECUR_METER_H
#define SEGQ_RECUR_METER_H

#include "common/recur/recur.h"

struct meter_window {
    uint64_t no; /* 0: none yet */
    int64_t from_ms, to_ms; /* Unix ms; to: the first moment of the next one */
};

/* The window of the zone's clocks in which a moment lies; days have 23 to 25 hours where they change.
 * length: 60, 3600, 86400. False: another one, or the zone is not known here. */
SQ_CHECK bool meter_window_at(struct meter_window *w, int64_t length_s, const struct zone *z, int64_t at_ms);

struct meter {
    struct meter_window window;
    uint64_t units; /* in each window; */
    uint64_t given; /* in this one, as all purses together may have */
};

/* The window is over, or there was none: the one of now begins. */
bool meter_is_over(const struct meter *m, int64_t now_ms);
void meter_begins(struct meter *m, const struct meter_window *at, uint64_t no);

struct purse {
    struct meter_window window;
    uint64_t given, taken; /* in this window */
};

/* Gives more to a node out of so many; has: what it said last, needs: the cost of its next call (0: it has
 * none; a piece is there for the first). The answer is its new `given`, to be stored with the meter and
 * then told. A call of more than the whole window gets it while nothing of it was given: those that were
 * refused go first. */
uint64_t meter_gives(struct meter *m, const struct purse *has, uint64_t given, uint64_t needs, unsigned nodes);
/* Would it give that node what it needs? */
bool meter_can_give(const struct meter *m, const struct purse *has, uint64_t given, uint64_t needs);
/* True costs went beyond what was given. The meter counts them, once. */
uint64_t meter_hears(struct meter *m, const struct purse *has, uint64_t given);

/* Obeys the manager; what is told late or twice changes nothing. */
void purse_gets(struct purse *p, const struct meter_window *w, uint64_t given);
/* Units that a call may have that begins now, or in this window, of so many units: only its first call may
 * have more than these. */
uint64_t purse_most(const struct purse *p, uint64_t units, int64_t now_ms);
uint64_t purse_left(const struct purse *p, uint64_t units);
void purse_pays(struct purse *p, uint64_t cost);
/* A call of window `no` took fewer units, or did not begin. Nothing of a window that is over comes back. */
void purse_returns(struct purse *p, uint64_t no, uint64_t units);
/* A node that was started anew, and knows what it had taken; without a record: all of what it had. */
void purse_resumes(struct purse *p, const struct meter_window *w, uint64_t given, const struct purse *kept);

#endif
