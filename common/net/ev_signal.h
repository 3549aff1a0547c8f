/* ev_signal.h: signals, told in the loop (ev.h). Shell. */
#ifndef SEGQ_EV_SIGNAL_H
#define SEGQ_EV_SIGNAL_H

#include "common/base/base.h"

struct ev;

/* fn is called in the loop, once for all that came since. One loop of a process has signals. */
SQ_CHECK int ev_signal(struct ev *ev, int signo, void (*fn)(void *arg), void *arg);

void ev_signals_end(struct ev *ev); /* for ev.c: as it was before */

#endif
