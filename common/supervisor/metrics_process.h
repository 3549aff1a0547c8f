/* metrics_process.h: what a process knows of itself: metrics that each has, figures that it tells the
 * manager, memory that it gives back. Shell. */
#ifndef SEGQ_METRICS_PROCESS_H
#define SEGQ_METRICS_PROCESS_H

#include "common/base/base.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/net/ev.h"

/* Start time, resident memory, CPU seconds, open fds, build info; region and zone, if it has one. */
void metrics_process(struct buf *b, const char *program, const char *region, const char *zone);

#define LOAD_EVERY_MS 2000

struct own_load { /* zero at first */
    msec_t looked_ms;
    double cpu_s; /* then */
    int64_t started_ms;
};

struct own_figures {
    uint32_t cpu_permille; /* use of one core, since the last look; at the first one 0 */
    uint64_t rss_bytes;    /* 0: not known */
    int64_t started_ms;    /* Unix ms */
    const char *version;   /* constant */
};

struct own_figures own_load_look(struct own_load *l, msec_t now_ms, int64_t wall_ms);

/* ---- memory that a crowd has left behind goes back to the system ----
 *
 * Memory freed between two blocks that live stays with the process: the C library gives
 * back only the end of its heap. So after 5 000 connections with long heads a router kept all
 * of their buffers. Every five seconds we look how much memory the process has; if it has
 * grown by an eighth (4 MiB at least) since the last time, and as much is free inside, the
 * library is told to give free pages back (malloc_trim: 20 ms for those 5 000 buffers, once).
 * A crowd may still be leaving at that moment: looks go on giving back until one finds less
 * than 512 KiB.
 * Growth that is in use, and ups and downs below that, cost one look. */

#define GIVEBACK_LOOK_MS 5000
#define GIVEBACK_LEAST   ((uint64_t)4 << 20) /* bytes that are worth it */

struct giveback;
SQ_CHECK int giveback_new(struct giveback **out, struct ev *ev, struct err *e);
void giveback_free(struct giveback *g); /* NULL is fine */

/* has: bytes the process has now. *low: the least since the last time, 0 at first; follows.
 * True: it is time to look at what is free. Pure. */
bool giveback_due(uint64_t *low, uint64_t has);

#endif
