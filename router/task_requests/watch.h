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
 *   event: gone     data: a problem: it is not kept any more; of a queue: the token may no more
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

#define WATCH_AGAIN_MS 1000 /* a question that was answered at once is asked again then */
#define WATCH_RETRY_MS 1000 /* pause that the first event says */

struct watch {
    struct list_node in;    /* tasking.watches */
    struct list_node in_feeds; /* tasking.feeds, of a queue */
    struct tasking *t;      /* ref */
    struct httpd_req *req;  /* ref: the answer that is open; NULL: not yet */
    struct task_call *call; /* ref: what is asked; NULL: nothing */
    part_no part;
    bool is_new;            /* nothing was sent yet */
    task_no no;
    char *queue;            /* owned: of a queue; NULL: of a task */
    uint64_t whose;         /* server_token_id(), for a queue; 0: of a task */
    const char *denied;     /* not opened yet, and the token may no more: why; NULL: it may */
    uint8_t problem;        /* enum api_problem, then */
    uint64_t client;        /* gate_listener() */
    uint64_t told;          /* hash of what was told last; of a queue: number of the last event */
    void (*open)(struct watch *w, struct task_call *c, const struct msg *m); /* with the first answer */
    void (*ask)(struct watch *w); /* again, */
    msec_t each_ms;               /* pause behind the last question */
    msec_t sent_ms, asked_ms;
    struct buf late;        /* newest event, for a client that has not taken the last */
};

void watch_start(struct tasking *t, const struct task_asked *x);
/* News of a task that waits or runs. */
void watch_hear(struct watch *w, const struct place_row *r);
/* The client of the open answer has gone. user: struct watch. */
void watch_gone(void *user);
/* Once in a while: beats, and questions that are to be asked again. */
void watches_tick(struct tasking *t);
/* Ends it if its token may no more, and says why. why NULL: it may. */
void watch_judged(struct watch *w, uint8_t problem, const char *why);
/* All are told when to come back, and their streams end. */
void watches_drain(struct tasking *t);
void watches_free(struct tasking *t);

/* ---- for queue_calls.c, too ---- */

/* NULL: not here, or not now: watch_refuse(). */
struct watch *watch_new(struct tasking *t, const struct task_asked *x);
void watch_refuse(struct tasking *t, const struct task_asked *x);
/* Asks for the first time; c NULL: that has been answered. */
void watch_begin(struct watch *w, struct task_call *c);
void watch_first(struct task_call *c, const struct msg *m);
/* The client of c waits for events from now on. */
void watch_open(struct watch *w, struct task_call *c);
void watch_forget(struct watch *w);
/* The lines before an event's data. name NULL: it has none. retry_ms 0: it stays as it was said. */
void watch_begin_event(struct watch *w, struct buf *b, const char *name, uint32_t retry_ms);
void watch_send(struct watch *w, const struct buf *b);

#endif
