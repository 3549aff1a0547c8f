/* watch.h: GET /v1/tasks/{task}/events: who watches a task is told what becomes of it, on an open connection, as
 * people are of their tickets (router/calls/events.h). Shell.
 *
 *   GET --a look--> it is there: 200, open --> that look; then, if it is over, the end
 *            '----> anything else: as a look is answered
 *   no room (max_listeners, with those of tickets; conns_per_addr), not the connection for it: 204 and Retry-After
 *
 *   open  --its place, state, progress changed (once a second at most)--> that
 *         --it is over, or gone--> that, and the end
 *         --this router stops--> when to come back, and the end
 *
 *   data: {"state":"waiting","attempts":0,"position":4,...}   a look at first, then what may have changed
 *   event: end      data: a look without its result; nothing more comes
 *   event: gone     data: a problem: it is not kept any more
 *   event: beat     data: 15000; nothing has changed, in so many ms the next one comes
 *   event: away     data: {"poll_after_ms":2345}; this router stops
 *
 * Behind it a TASK_GET waits that says `places`, WATCH_WAIT_MS long, again and again. So a node that is away,
 * begins anew, or gives the partition to another, is asked again as for any look, and the stream goes on: what
 * the client sees is silence with beats, then the task as it is. A client that is slow gets the newest when it
 * has taken the last. An open one costs some 200 bytes here beside its connection and its question. */
#ifndef SEGQ_ROUTER_WATCH_H
#define SEGQ_ROUTER_WATCH_H

#include "router/task_requests/call.h"

#define WATCH_WAIT_MS 30000
#define WATCH_BEAT_MS 15000

struct watch;

void watch_start(struct tasking *t, const struct task_asked *x);
/* News of a task that waits or runs. */
void watch_hear(struct watch *w, const struct place_row *r);
/* The client of the open answer has gone. user: struct watch. */
void watch_gone(void *user);
/* Once in a while: beats, and questions that are to be asked again. */
void watches_tick(struct tasking *t);
/* All are told when to come back, and their streams end. */
void watches_drain(struct tasking *t);
void watches_free(struct tasking *t);

#endif
