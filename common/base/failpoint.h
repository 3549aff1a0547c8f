/* failpoint.h: named places at which a test may end or stop the process. Test builds only
 * (-DSEGQ_FAILPOINTS: the asan flavour); in all others they are nothing at all.
 *
 * SEGQ_FAILPOINTS names a folder. A file in it that is named as a point arms that point;
 * whoever comes there first takes the file away and does what it says:
 *   kill        dies on the spot, as by kill -9
 *   pause N     stands still for N milliseconds
 *   error       the call that stands there fails (FAILPOINT_FAILS_AT only)
 *   after N ... lets N others pass before: what follows, the time after
 * So a running cluster can be led through one point after the other, each once. */
#ifndef SEGQ_FAILPOINT_H
#define SEGQ_FAILPOINT_H

#ifdef SEGQ_FAILPOINTS
#include <stdbool.h>

/* name: WHAT, or WHAT.WHEN. True: "error". */
bool failpoint_here(const char *what, const char *when);
/* Something whose fate is decided later in the turn ... */
void failpoint_note(const char *what);
/* ... now: a point for each that was noted. last: forgets them. */
void failpoint_noted(const char *when, int last);
#define FAILPOINT(what)             ((void)failpoint_here(what, (const char *)0))
#define FAILPOINT_FAILS_AT(what, w) failpoint_here(what, w) /* the point what.w */
#define FAILPOINT_NOTE(what)        failpoint_note(what)
#define FAILPOINT_NOTED(when, last) failpoint_noted(when, last)
#else
#define FAILPOINT(what)             ((void)0)
#define FAILPOINT_FAILS_AT(what, w) false
#define FAILPOINT_NOTE(what)        ((void)0)
#define FAILPOINT_NOTED(when, last) ((void)0)
#endif

#endif
