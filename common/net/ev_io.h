/* ev_io.h: descriptors that a loop (ev.h) watches. Shell. */
#ifndef SEGQ_EV_IO_H
#define SEGQ_EV_IO_H

#include "common/base/base.h"

struct ev;

#define EV_IO_READ  1u
#define EV_IO_WRITE 2u
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

/* For ev.c: waits us at most (0: not at all, INT64_MAX: for ever), and tells what came. */
void ev_ios_run(struct ev *ev, int64_t us);

#endif
