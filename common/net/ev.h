/* ev.h: the loop of a process: timers, signals, descriptors, things to do at the end of
 * a turn. The only wrapper of libevent's core that the rest of the code uses.
 *
 * A turn: wait; run what is due; run what was posted; run the end-of-turn hooks in the
 * order of their registration. The clock is read once per turn.
 * Rule: a callback never frees what its caller may still touch: it posts. */
#ifndef SEGQ_EV_H
#define SEGQ_EV_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/net/ev_coalesce.h"
#include "common/net/ev_timer.h"

struct ev;
struct ev_io;
struct event_base;

SQ_CHECK int ev_new(struct ev **out, struct err *e);
void ev_free(struct ev *ev);
/* Runs turns until ev_stop(). */
void ev_run(struct ev *ev);
void ev_stop(struct ev *ev);
void ev_turn(struct ev *ev, bool wait); /* one turn, for tests */

struct ev_clock { /* what a loop begins with */
    int64_t mono_us, wall_ms; /* of this turn, if not stale */
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

int64_t ev_read_wall_ms(void);             /* Unix time, of this very moment */
struct event_base *ev_base(struct ev *ev); /* for httpd, and evhttp's client */

typedef void (*ev_fn)(void *arg);

/* Once, at the end of this turn (before the hooks). Order is kept. What is posted by a
 * posted function or a hook runs at the end of the next turn, which then does not wait.
 */
void ev_post(struct ev *ev, ev_fn fn, void *arg);
/* At the end of every turn: "answers out, then requests out". Lower `rank` first. */
SQ_CHECK int ev_hook(struct ev *ev, int rank, ev_fn fn, void *arg);
void ev_unhook(struct ev *ev, ev_fn fn, void *arg);

#define EV_IO_READ  1u
#define EV_IO_WRITE 2u
typedef void (*ev_io_fn)(void *arg, unsigned what);
/* Watches fd (not owned) for `what` (persistent, level triggered). */
struct ev_io *ev_io_new(struct ev *ev, int fd, ev_io_fn fn, void *arg);
SQ_CHECK int ev_io_set(struct ev_io *io,
                       unsigned what); /* 0 = nothing; cheap if unchanged */
void ev_io_free(struct ev_io *io);

SQ_CHECK int ev_signal(struct ev *ev, int signo, ev_fn fn, void *arg);

#endif
