/* ev.h: the loop of a process: the time, descriptors, timers, signals, things to do at the end of
 * a turn. Shell.
 *
 * A turn: wait; run what is due; run what was posted; run the end-of-turn hooks in the
 * order of their registration. The clock is read once per turn.
 * Rule: a callback never frees what its caller may still touch: it posts. */
#ifndef SEGQ_EV_H
#define SEGQ_EV_H

#include "common/base/base.h"
#include "common/base/err.h"

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

/* ---- time ---- */

struct ev_clock { /* first member of a loop */
    int64_t mono_us, wall_ms; /* times of this turn, if not stale */
    msec_t mono_ms;
    bool stale;
};
void ev_read_clock(const struct ev *ev);

static inline const struct ev_clock *ev_clock(const struct ev *ev)
{
    const struct ev_clock *c = (const struct ev_clock *)(const void *)ev;

    if (SQ_UNLIKELY(c->stale))
        ev_read_clock(ev);
    return c;
}

static inline msec_t ev_now(const struct ev *ev) /* monotonic, of this turn */
{
    return ev_clock(ev)->mono_ms;
}

static inline int64_t ev_now_us(const struct ev *ev) /* monotonic, of this turn */
{
    return ev_clock(ev)->mono_us;
}

static inline int64_t ev_wall_ms(const struct ev *ev) /* Unix time, of this turn */
{
    return ev_clock(ev)->wall_ms;
}

/* Reads the clocks at this very moment. */
int64_t ev_read_mono_us(void);
int64_t ev_read_wall_ms(void); /* Unix time */

/* ---- descriptors that a loop watches ---- */

#define EV_IO_READ  1u
#define EV_IO_WRITE 2u
#define EV_IO_GONE  4u /* the other end has closed its side, whatever of it is unread */
typedef void (*ev_io_fn)(void *arg, unsigned what);

struct ev_io { /* a part of its owner, or made by ev_io_new() */
    struct ev *ev; /* ref */
    ev_io_fn fn;
    void *arg;
    int fd; /* ref */
    unsigned what;
};

/* Persistent, level triggered; of nothing at first. What was asked for no more is not told, though
 * it were due in this very turn; an error or a hang-up is told as all that was asked for. */
void ev_io_init(struct ev_io *io, struct ev *ev, int fd, ev_io_fn fn, void *arg);
SQ_CHECK int ev_io_change(struct ev_io *io, unsigned what); /* for ev_io_set() */
static inline int ev_io_set(struct ev_io *io, unsigned what) /* 0 = nothing; free if unchanged */
{
    return io->what == what ? 0 : ev_io_change(io, what);
}

void ev_io_end(struct ev_io *io); /* before fd is closed */
struct ev_io *ev_io_new(struct ev *ev, int fd, ev_io_fn fn, void *arg);
void ev_io_free(struct ev_io *io); /* ends it; NULL is fine */

/* ---- timers ---- */

struct ev_timer;

/* Makes a one-shot timer; armed by ev_timer_at. NULL: no memory. Never early, late by some
 * microseconds (by up to 1 ms where the kernel has no epoll_pwait2()). Arming and putting off ask
 * nothing of the kernel, and look at each timer that is due later. */
struct ev_timer *ev_timer_new(struct ev *ev, void (*fn)(void *arg), void *arg);
void ev_timer_at(struct ev_timer *t, msec_t when); /* MSEC_NEVER disarms */
void ev_timer_in_us(struct ev_timer *t, int64_t us);
/* For what comes again and again, and not to the moment: from 100 ms on it is moved by up to 50 ms, to
 * one of the moments, 100 ms apart, that such timers of a loop share. Each turn of a loop that idles
 * costs a wake-up with cold caches, far more than what is done in it. */
void ev_timer_about(struct ev_timer *t, msec_t in_ms);
void ev_timer_free(struct ev_timer *t);

/* ---- signals ---- */

/* fn is called in the loop, once for all that came since. One loop of a process has signals. */
SQ_CHECK int ev_signal(struct ev *ev, int signo, void (*fn)(void *arg), void *arg);

#endif
