/* ev.h: the loop of a process: timers, signals, descriptors, things to do at the end of
 * a turn.
 *
 * A turn: wait; run what is due; run what was posted; run the end-of-turn hooks in the
 * order of their registration. The clock is read once per turn.
 * Rule: a callback never frees what its caller may still touch: it posts. */
#ifndef SEGQ_EV_H
#define SEGQ_EV_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/net/ev_clock.h"
#include "common/net/ev_io.h"
#include "common/net/ev_signal.h"
#include "common/net/ev_timer.h"

struct ev;
struct event_base;

SQ_CHECK int ev_new(struct ev **out, struct err *e);
void ev_free(struct ev *ev);
/* Runs turns until ev_stop(). */
void ev_run(struct ev *ev);
void ev_stop(struct ev *ev);
void ev_turn(struct ev *ev, bool wait); /* a single turn, for tests */

/* libevent's, for its HTTP client and its questions to name servers: what waits there is looked
 * at every 5 ms. Made when first asked for; NULL: no memory. */
struct event_base *ev_base(struct ev *ev);

typedef void (*ev_fn)(void *arg);

/* Once, at the end of this turn (before the hooks). Order is kept. What is posted by a
 * posted function or a hook runs at the end of the next turn, which then does not wait.
 */
void ev_post(struct ev *ev, ev_fn fn, void *arg);
/* At the end of every turn: "answers out, then requests out". Lower `rank` first. */
SQ_CHECK int ev_hook(struct ev *ev, int rank, ev_fn fn, void *arg);
void ev_unhook(struct ev *ev, ev_fn fn, void *arg);

#endif
