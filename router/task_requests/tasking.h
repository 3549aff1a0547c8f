/* tasking.h: what a router has for tasks: the map of pools, links to task nodes, requests under
 * way: data, its beginning and end, and the maps that come. Shell.
 *
 *   request.h      who may ask, and the file that does it: submit.c, work.c, take_many.c,
 *                  single_task.c, queue_calls.c
 *   call.h         an HTTP request, and its questions
 *   ask.h          a question's way to a node, waits, time limits; what nobody waits for; clients
 *                  who go meanwhile
 *   pieces.h       large bodies of calls, answers that are longer than a look: piece by piece
 *   submission.h   what a submission carries, and tasks behind it
 *   passing.h      answers that are passed on while they come
 *   progress.h     places that are told to callers in line
 *   watch.h        events of a task, on an open connection
 *   queue_calls.h  groups, schedules and events of a queue
 *   task_link.h    links to task nodes: frames out and in
 *   notice.h       what nodes say by themselves: ends, next tasks of chains */
#ifndef SEGQ_ROUTER_TASKING_H
#define SEGQ_ROUTER_TASKING_H

#include "common/base/list.h"
#include "common/base/log.h"
#include "router/state/node_links.h"
#include "router/state/router.h"
#include "router/task_api/pools.h"
#include "router/task_api/rights.h"

#define TASK_ASK_MS   5000   /* beyond what the caller waits for, a request takes no longer */
#define TASK_TURNS    256
#define TASK_CALLS    65536  /* under way; more get 503 at once */
#define TASK_LARGEST  (2u << 20) /* bytes of a request's body: of a batch */

#define STRAYS_ENTRIES 256

struct task_link;

struct stray_asked { /* ask.h: not again until then */
    uint64_t hash; /* hash of queue and partition */
    msec_t until;
};

struct no_way { /* turn.c: a push service that is not called: said in the log */
    uint64_t hash; /* hash of what was said */
    msec_t until;
};

struct tasking_counts { /* ever */
    uint64_t submitted, same, taken, settled, looked, changed; /* tasks */
    uint64_t refused;                                          /* without a token that may */
    uint64_t lost, overdue, stale, given_back, unheard;
    uint64_t routed, elsewhere; /* calls by routes; those that went on to another endpoint */
    uint64_t tenants, waits_over; /* requests of tenants, let in; calls that were answered 504 */
    uint64_t turns, turns_failed; /* words to people in line that a task node has; that it did not take; */
    uint64_t turns_no_way;        /* for which there is nobody to be called */
    uint64_t turns_ended;         /* whose subscription had ended */
    uint64_t notices; /* ends of tasks that another queue has taken */
    uint64_t chained; /* next tasks of chains, handed over */
    uint64_t left; /* calls whose clients went before they were answered */
    uint64_t wholes, wholes_broken, wholes_crowded; /* answers longer than a look */
    uint64_t passings, passings_broken, passings_left, followings, progresses, passed_bytes; /* answers passed on as they came */
    uint64_t uploads, upload_bytes, uploads_given_up; /* large bodies that were submitted; that were not */
    uint64_t maps, frames, rows;
};

struct tasking {
    struct router *r; /* ref */
    struct pools pools;
    struct server_tokens tokens;
    struct node_links links; /* list of struct task_link */
    struct list calls;   /* struct task_call, owned */
    struct list waiting; /* struct ask: for a newer map, or a link */
    struct list passings, eased; /* struct passing, owned; those of which more may come */
    struct { /* where the answer at hand came from: for one that begins */
        struct task_link *link; /* ref */
        uint64_t rid;
    } piece;
    struct list uploads; /* struct upload, owned */
    uint64_t last_upload;
    struct list wholes, taken; /* struct whole, owned; those whose clients want more */
    struct list watches; /* struct watch, owned */
    struct list feeds;   /* watches of queues */
    struct ev_timer *timer;
    ev_fn farewell; /* NULL: the process does not end */
    void *farewell_arg;
    msec_t farewell_limit;
    uint64_t next_rid;
    uint32_t turn[TASK_TURNS]; /* takes from several queues: with which each begins; by the hash of their list */
    struct stray_asked strays[STRAYS_ENTRIES]; /* by hash; strays_next() */
    struct buf form; /* texts of the call being read */
    struct buf then; /* and what is behind it (submission.h) */
    union { /* rows of the request being read, of the frame being made */
        struct slice text[TASK_ROWS_MAX];
        struct task_put put[TASK_ROWS_MAX];
        struct settle_row settle[TASK_ROWS_MAX];
    } rows;
    char no_units[200]; /* detail of the answer being made */
    struct tasking_counts counts;
    struct log_limit untold; /* lines about people who cannot be told */
    struct no_way no_ways[16]; /* by hash */
    int64_t push_turn_us, push_spent_us; /* turn of the loop, and its time for Web Push until now */
};

/* Reads the tokens' file; *out NULL: the configuration names none. */
SQ_CHECK int tasking_new(struct tasking **out, struct router *r, struct err *e);
void tasking_free(struct tasking *t);
/* Is the tokens' file sound? One that is not there yet is no fault. */
SQ_CHECK int tasking_try(const struct router_cfg *cfg, struct err *e);
/* HUP: the tokens' file again. */
void tasking_reload(struct tasking *t);
/* From a manager. t may be NULL. */
void tasking_map(struct tasking *t, const char *manager, const struct msg_task_map *m);

#endif
