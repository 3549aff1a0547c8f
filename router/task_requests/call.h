/* call.h: an HTTP request about tasks while it is answered, and the questions (rows) that it asks
 * of task nodes: their memory, and its end. Shell.
 * A call has one piece of memory: the rows, and behind them copies of the texts they refer to. It
 * ends, and is freed, when each row has an answer. */
#ifndef SEGQ_ROUTER_CALL_H
#define SEGQ_ROUTER_CALL_H

#include "common/task/state.h"
#include "router/api/response.h"
#include "router/task_api/answer.h"
#include "router/task_api/path.h"
#include "router/task_api/request_body.h"
#include "router/task_requests/tasking.h"

struct task_id { /* content of a task's token; 0: none */
    part_no part;
    task_no no;
};

struct task_asked { /* a request about tasks, let in */
    struct httpd_req *req;
    const struct http_req *q;
    struct task_path path;
    struct task_id id;  /* in path.token */
    struct slice opens; /* see task_call; n 0: the path names the queue */
    struct route_ways ways; /* by a route: queues in place of endpoints; n 0: by none */
    const struct tenant *tenant; /* the token's, until the request has begun; NULL: no token */
};

enum ask_kind { ASK_PUT, ASK_SETTLE, ASK_GET, ASK_TAKE, ASK_CHANGE, ASK_SCHEDULE, ASK_COMPLETE,
                ASK_READ, ASK_GROUP, ASK_PROGRESS, ASK_FIRST, ASK_FEED, ASK_UPLOAD,
                ASK_NKINDS };

struct task_call;

struct group_said { /* a partition's answer; the states as in msg_task_group_ans */
    bool sealed, cancelling;
    uint64_t n[TASK_NSTATES];
};

struct ask { /* a row */
    struct list_node in_list; /* in `list` */
    struct list *list;        /* list of its link, or of those that wait; NULL: in none */
    struct ask **slot;        /* where a frame that was sent refers to it; NULL: in none */
    uint64_t rid;             /* request id of that frame */
    struct task_call *call;   /* ref */
    uint8_t kind;             /* enum ask_kind */
    bool repeats;             /* may be asked again, whatever has become of it */
    bool lost;                /* PUT: a node may have done it, without an answer */
    bool answered;
    bool is_call;             /* PUT, SCHEDULE: the body is a call form */
    int16_t code;             /* enum task_code, or one of answer.h */
    struct slice queue;       /* queue that its way is of; n 0: of its partition */
    part_no part;             /* partition in a task's token, or of the way that it went */
    struct bytes_of queues;   /* SETTLE, CHANGE: as their messages have them */
    const char *why;          /* refused here: a sentence of ours; NULL: it was asked */
    uint8_t problem;          /* enum api_problem, then */
    union {
        struct task_put put;
        struct settle_row settle;
        struct msg_task_get get;
        struct msg_task_take take;
        struct msg_task_change change;
        struct msg_task_schedule schedule;
        struct msg_task_complete complete;
        struct msg_task_read read;
        struct msg_task_progress progress;
        struct msg_task_first first;
        struct msg_task_feed feed;
        struct msg_task_upload upload;
        struct { struct msg_task_group asked; struct group_said said; } group;
    };
    task_no no; /* number in the answer, as far as its rows are kept */
    uint8_t state;
    bool maybe_executed;
    uint32_t too_long_ms; /* PUT; */
    uint64_t units, max_units; /* FULL + FULL_UNITS */
    int64_t until_ms;
};

/* All rows are answered: composes into r->ans. m: the answer to a call's only row; NULL: to that of
 * code >= TASK_NCODES, or to one that was one of many. */
typedef void (*call_done)(struct task_call *c, const struct msg *m);

/* A row of a call has its answer, before the call may end by it. */
typedef void (*row_done)(struct ask *a, const struct msg *m);

struct take_many;
struct call_more;

struct other_ways { /* the rest of a route, in the call's memory */
    unsigned n;
    struct slice queue[ROUTE_WAYS_MAX];
    uint32_t max_wait_ms[ROUTE_WAYS_MAX];
    int64_t cost[ROUTE_WAYS_MAX];
};

/* A task's end that is told in another queue: whose. Of a turn: its word, and the ticket. */
struct notice_of {
    node_no node;
    part_no part;
    uint64_t id;
    task_no no;
};

enum progress { PROGRESS_NONE, PROGRESS_COMMENTS, PROGRESS_EVENTS };

struct task_call {
    enum waiter waits;      /* WAITS_TASK; httpd's user pointer, dispatch.c */
    struct tasking *t;      /* ref */
    struct list_node in_all;
    struct httpd_req *req;  /* ref; NULL: nobody waits for the answer */
    msec_t wait_ms;         /* Prefer: wait */
    msec_t deadline;
    call_done done;
    struct slice queue;     /* named in the path */
    const struct task_way *way; /* way of that, until it has begun; NULL: to be looked up */
    const struct tenant *tenant; /* whose, until it has begun; NULL: nobody's */
    uint64_t whose;         /* server_token_id() of a call that takes; 0: any other */
    struct other_ways *ways; /* where else it may go; NULL: nowhere */
    msec_t until;           /* looked at again and again until then, and no longer (504); 0: once */
    uint8_t what;           /* enum task_op */
    bool frees;             /* ?ack=1: what was read may go */
    bool reads;             /* the bytes of a result are shown */
    bool follows;           /* TASK_RESULT: told as it comes */
    bool fresh;             /* a new task was submitted */
    bool passes_on;         /* answered as the target answers */
    bool whole_only;        /* and not while that comes */
    uint8_t progress;       /* enum progress: its place is told (progress.h); */
    void (*ends)(struct task_call *c); /* and the head has left: gives what is composed; NULL: not yet */
    bool untaken;           /* and the client has not taken what was said last; */
    msec_t said_ms;         /* when that was */
    bool looks;             /* looked at once it is written */
    bool may_leave;         /* the client waits, and does not come back */
    bool leaves;            /* cancelled then by its pool, if the client goes before it has begun */
    struct slice known;     /* If-None-Match */
    struct whole *whole;    /* ref: READ: whose piece it is */
    struct watch *watch;    /* ref: GET: who watches it; NULL: nobody */
    struct upload *upload;  /* ref: UPLOAD: likewise */
    struct notice_of notice; /* node 0: it is none */
    struct slice turn;      /* GET: a word to somebody in line that waits for this (links/turn.c) */
    struct call_more *more; /* owned: what its own memory has no room for */
    struct msg_task_take next; /* SETTLE, TAKE of strays: taken once that is done; queue NULL: nothing */
    uint32_t place;         /* TAKE: of which pool of the queue; 0: its own (tasking.h) */
    struct take_many *many; /* owned; TAKE: of several queues; else NULL */
    void (*many_free)(struct take_many *m);
    row_done each;          /* each row has its answer; NULL: nobody asks */
    struct slice settled;   /* TAKE: the answer to the settlement before it; n 0: there is none */
    struct slice opens;     /* queues_match(): of tasks that are named by their tokens; n 0: all */
    bool silent;            /* never waited for: done() composes nothing */
    uint32_t n, open;       /* rows; what has to happen yet: their answers, and its begin */
    char *memory, *end;     /* rest of the memory for texts */
    uint32_t why_room;      /* part of it for reasons of unfit rows */
    struct ask v[];
};

/* With room for n rows and `bytes` of texts; req NULL: nobody waits. wait_ms: how long the caller
 * waits besides. NULL: that has been answered (503). */
struct task_call *call_new(struct tasking *t, struct httpd_req *req, uint32_t n, size_t bytes,
                           msec_t wait_ms, call_done done);
/* The client of c waits for `next` from now on; nobody does for c. */
void call_hand_over(struct task_call *c, struct task_call *next);
/* Copies; the text gets a 0 behind it. There must be room. */
char *call_text(struct task_call *c, struct slice text);
struct slice call_bytes(struct task_call *c, struct slice bytes);

/* The same of a text that has its 0, and of bytes as messages have them. */
char *call_copy(struct task_call *c, const char *text);
struct bytes_of call_bytes_of(struct task_call *c, struct bytes_of b);
static inline struct bytes_of bytes_in(struct slice s)
{
    return (struct bytes_of){ (uint32_t)s.n, (const uint8_t *)s.p };
}
static inline struct bytes_of call_bytes_in(struct task_call *c, struct slice bytes)
{
    return bytes_in(call_bytes(c, bytes));
}
/* Copies into memory beside that. p NULL: there is none. */
struct bytes_of call_more(struct task_call *c, const struct buf *bytes);

/* A row into a list, and out of the one that it is in. */
void ask_join(struct ask *a, struct list *list);
void ask_leave(struct ask *a);
/* Out of every list, and out of its frame. */
void ask_forget(struct ask *a);

/* Finds the endpoint of its partition's tasks, as far as is known; "": workers take them. */
const char *ask_endpoint(const struct ask *a);
struct passed_from ask_from(const struct ask *a);

/* A row has its answer; may end and free its call. m: as in call_done. */
void call_answered(struct ask *a, const struct msg *m);
/* Counts a thing that had to happen and has. Likewise. */
void call_settled(struct task_call *c, const struct msg *m);
/* The client has gone. */
void call_client_gone(struct task_call *c);
/* Ends it without an answer. */
void call_drop(struct task_call *c);

/* ---- requests whose body has many rows: a JSON list, or lines of JSON (NDJSON) ----
 * A body that is no JSON is refused as a whole; a row that is unfit is refused alone. */

/* Reads a row: fills *a, or calls row_refuse(). */
typedef void (*row_read)(struct ask *a, struct slice text);

/* A call with all rows of the body, read by `read`, to be begun. NULL: it was answered already.
 * opens: as a call has it. */
struct task_call *call_of_rows(struct tasking *t, const struct task_asked *x, struct slice opens,
                               row_read read, call_done done);
/* Answers with what has gone wrong. False: nothing has. */
bool call_failed(struct task_call *c, const struct task_outcome *o);
/* Token of the row's task. */
struct task_name row_name(const struct ask *a, task_no no);

/* Reads the request's body, of these members. False: that has been refused. */
SQ_CHECK bool task_body_taken(struct tasking *t, const struct task_asked *x, uint64_t members, struct task_body *b);
/* The row is not asked: why is copied, as far as there is room. */
void row_refuse(struct ask *a, enum api_problem p, const char *why);

#endif
