/* msg_router_task.h: a part of msg.h: what routers ask task nodes: tasks are submitted, looked at,
 * changed, taken and settled. The answer has the request id of its question, and of a question with
 * rows the i-th row answers the i-th. Each names the partition and the epoch of the asker's map: a
 * node that has it under another epoch, or not at all, answers CODE_STALE. Pure. Memory: msg.h. */
#ifndef SEGQ_MSG_ROUTER_TASK_H
#define SEGQ_MSG_ROUTER_TASK_H

#include "common/recur/recur.h"
#include "common/task/rules.h"
#include "common/task/state.h"

struct bytes_of { /* n 0: none */
    uint32_t n;
    const uint8_t *p;
};

enum task_code { /* outcome of a question */
    CODE_DONE,     /* written */
    CODE_SAME,     /* submission: the same again; nothing has changed */
    CODE_MISMATCH, /* submission: the same key or name, another payload */
    CODE_UNKNOWN,  /* no such task or queue */
    CODE_CONFLICT, /* not in this state, or not with this lease */
    CODE_INVALID,  /* a number out of its range */
    CODE_STALE,    /* the asker's map is old */
    CODE_BUSY,     /* no memory, or nothing can be written: later */
    CODE_HELD,     /* submission: another task has its unique key */
    CODE_DENIED,   /* the asker may not do this in the task's queue; or there is no such task */
    CODE_FULL,     /* no room for more: later; of a submission + enum task_full */
    TASK_NCODES = CODE_FULL + TASK_NFULLS
};

struct task_put {
    part_no part;
    uint64_t epoch;
    const char *queue, *key1, *key2; /* keys: "" if there is none */
    const char *name;                /* the caller's own; "": none */
    struct bytes_of key;             /* Idempotency-Key */
    uint64_t digest;                 /* digest of the payload */
    uint8_t priority;
    int64_t order;
    int64_t delay_ms; /* 0: none. Not with at_ms */
    int64_t at_ms;    /* Unix ms; 0: none */
    struct task_own own;
    struct bytes_of body;
    struct bytes_of unique; /* a key that one task has at a time; n 0: none */
    uint8_t unique_while;   /* enum unique_while */
    uint8_t on_conflict;    /* enum unique_conflict */
    const char *group;      /* group of its queue; "": none */
    struct bytes_of then;   /* submitted when it succeeds: a message TASK_PUT of one row; n 0: nothing */
    uint8_t chain;          /* enum chain_form, bits: of a row in `then` */
    part_no after_part;     /* a row that was in `then`: the task of which it came; after_no 0: of none */
    task_no after_no;
    uint64_t may_wait_ms;   /* refused as too long (FULL_WAIT) if its wait is estimated to be longer, or its
                             * endpoint is down or paused: another one gets it; 0: never for this */
    struct bytes_of offer;  /* further queues in which it stands: "b,c"; n 0: none */
    bool read; /* a TASK_GET with a window follows: no more of the answer is read before than it can begin with */
};

struct msg_task_put {
    uint32_t n;
    struct task_put *v;
};

struct task_put_row {
    uint8_t code; /* enum task_code */
    task_no no;   /* DONE, SAME */
    uint8_t state; /* enum task_state; 0: it has gone, or is not told */
    uint32_t too_long_ms; /* FULL + FULL_WAIT: time by which its wait would be longer than max_wait;
                           * FULL + FULL_UNITS: until there may be room, 0: not known */
    uint64_t units, max_units; /* FULL + FULL_UNITS: wait in its queue, of at most */
};

struct msg_task_put_ans {
    uint32_t n;
    struct task_put_row *v;
};

struct msg_task_get {
    part_no part;
    uint64_t epoch;
    task_no no;               /* 0: by queue and name; without name: how many wait in the queue */
    const char *queue, *name;
    uint32_t wait_ms; /* answered when the task is final, or after so long */
    bool result;      /* with the bytes of it */
    uint32_t window;  /* 0, or a call's answer may be told in pieces as it comes (TASK_PIECE), in
                       * place of TASK_GET_ANS: so many bytes before TASK_FLOW asks for more */
    bool leaves;      /* the call is given up when the asker has left */
    uint32_t follow;  /* 0, or like window, for one who reads along: it holds nothing up, nor ends it */
    bool places;      /* places are told while it waits: TASK_PLACES */
};

enum piece_step {
    PIECE_HEAD,   /* the answer begins; with the bytes of it that are here */
    PIECE_MORE,   /* next bytes */
    PIECE_WHOLE,  /* all of it has been told, and the task is settled by it */
    PIECE_BROKEN, /* no more comes, and it is not whole */
    PIECE_NSTEPS
};

/* Has the request id of its TASK_GET, as all pieces of an answer. A question without `window` and
 * `follow`, and so each of an older router, never gets one. */
struct msg_task_piece {
    uint8_t step;  /* enum piece_step */
    uint64_t call; /* for TASK_FLOW */
    uint64_t at;   /* bytes that were told before these */
    struct bytes_of data;
    /* HEAD: */
    part_no part;
    task_no no;
    uint32_t status; /* WHOLE, to one who follows: 0: the task is dead by it */
    const char *content_type;
    struct bytes_of fields; /* packed, like those of TASK_GET_ANS */
    bool fields_cut;
    bool sized;      /* the target has said how long it is */
    uint64_t length; /* sized: bytes */
    struct bytes_of sha256; /* WHOLE, to one who follows: of all bytes */
};

struct progress_said { /* word of its worker about the attempt that runs */
    int64_t ms;       /* Unix ms: when; 0: nothing, and what follows means nothing */
    uint8_t percent;  /* the value + 1; 0: not said */
    struct bytes_of text, data; /* UTF-8; a JSON value */
};

struct place_row {
    uint64_t rid;  /* request id of the TASK_GET that waits */
    uint8_t state; /* enum task_state */
    uint8_t capped; /* 1: more than that are before it */
    uint8_t eta;   /* enum task_eta; position, eta: of one that waits */
    uint64_t position;
    uint64_t ahead_of_priority; /* + 1, see TASK_GET_ANS */
    int64_t eta_ms; /* -1: not known */
    uint8_t attempts; /* begun */
    struct progress_said progress;
};

struct msg_task_places { /* news of those who wait for an end and said so */
    uint32_t n;
    struct place_row *v;
};

struct msg_task_flow { /* from who hears pieces; lost with its link, which ends them, too */
    uint64_t call;
    uint32_t more; /* bytes that may come beside those that might already */
    bool left;     /* the reader has gone */
};

struct attempt_row {
    uint32_t no; /* 1: the first; 0: it ended before one began */
    uint8_t end; /* enum attempt_end */
    uint32_t number; /* number of the end; 0: none */
    int64_t started_ms, ended_ms; /* Unix ms; started 0: not known, or it never did */
    int64_t again_ms;             /* Unix ms: the next one not before; 0: there is none */
    struct bytes_of reason;       /* UTF-8; what the worker said */
};

struct msg_task_get_ans {
    uint8_t code; /* DONE, UNKNOWN, STALE, BUSY; what follows is set for DONE */
    part_no part; /* for its node alone: not on the wire */
    task_no no;
    uint8_t state; /* enum task_state (common/task/state.h) */
    uint8_t priority;
    uint32_t attempts;
    bool stopping; /* running, and not tried again */
    const char *queue, *key1, *key2;
    int64_t order;
    int64_t entered_ms;    /* Unix ms: when it began to wait, or was accepted */
    int64_t until_ms;      /* Unix ms: when its state ends by itself; 0: never */
    uint64_t position;     /* among all who wait in its queue; 0: it does not wait */
    bool position_capped;  /* further back: callers are told no more */
    uint64_t waiting;      /* WAITING, or asked without number and name: all of its queue */
    bool waiting_capped;   /* more than that wait */
    uint32_t ahead_of_key; /* before it in its key; 100: or more */
    struct bytes_of offer; /* queues besides `queue`, while it is offered in several: "b,c" */
    uint64_t ahead_of_priority; /* entered before it, of its priority or above, all keys; + 1; 0: not said */
    uint8_t limited;       /* bits: enum closed (common/task/state.h); 0: nothing stops it */
    const char *limited_by; /* the name of the queue or key whose limit it is */
    int64_t limited_until_ms; /* Unix ms; 0: not known */
    struct task_own own;
    uint8_t eta;    /* enum task_eta */
    int64_t eta_ms; /* until it starts; -1: not known */
    struct bytes_of result;   /* the part that is kept, */
    uint64_t result_length;   /* length in bytes; 0: no result */
    struct bytes_of result_sha256; /* hash of all of them */
    part_no after_part, then_part; /* chain: the task before it, and the one behind it: */
    task_no after_no, then_no;     /* 0: none, or none yet */
    uint8_t then, then_why;   /* enum chain_state, enum chain_why */
    uint32_t target;          /* RUNNING: the number of its endpoint's target; 0: not known, or one url */
    bool result_whole;        /* longer than `result`; TASK_READ has all of it */
    uint32_t status;          /* status of the target's answer; 0: none */
    const char *content_type; /* type of the result; "": none */
    struct bytes_of fields;   /* header fields that are kept, packed (common/task/call.h) */
    bool fields_cut;          /* more fields were there */
    int64_t started_ms, ended_ms; /* Unix ms: of the attempt that runs, or was the last; of the
                                   * task; 0: not known, or not yet */
    uint32_t earlier;             /* attempts that ended before those of `history` */
    uint32_t n_history;
    struct attempt_row *history; /* for a look at one task: the newest at the end */
    uint64_t cost_used; /* units that its newest attempt took, + 1; 0: not known */
    struct progress_said progress;
};

/* True: cancelled after an attempt had begun: the worker may have done it. */
static inline bool task_maybe_executed(const struct msg_task_get_ans *m)
{
    return m->state == TASK_CANCELLED &&
           (m->attempts > 0 || m->earlier > 0 || (m->n_history > 0 && m->history[0].no > 0));
}

struct msg_task_take {
    part_no part;
    uint64_t epoch;
    const char *queue;
    uint32_t most;
    uint32_t lease_ms; /* 0: as the pool says */
    uint32_t wait_ms;  /* if there is none: answered when there is one, or after so long */
};

struct taken_row {
    task_no no;
    uint64_t lease;
    uint32_t attempt; /* 1: the first */
    int64_t until_ms; /* Unix ms: the end of the lease */
    const char *key1, *key2;
    struct bytes_of body;
};

struct msg_task_take_ans {
    uint8_t code; /* DONE (also if there is none), STALE, BUSY */
    uint32_t n;
    struct taken_row *v;
};

enum task_settle {
    SETTLE_ACK,    /* done: with a result */
    SETTLE_NACK,   /* not done: tried again, or dead */
    SETTLE_EXTEND, /* still at it */
    SETTLE_UNSEEN, /* no worker has seen it: it waits again, and the attempt does not count */
    SETTLE_UNHEARD, /* the same of all that a TAKE was given whose answer the router has not heard:
                     * `lease` is its request id; 0: the router's takes that wait in the partition end */
    SETTLE_NVERBS
};

#define SETTLE_BY_BACKOFF UINT32_MAX

struct settle_row {
    part_no part;
    uint64_t epoch;
    uint8_t verb; /* enum task_settle */
    task_no no;
    uint64_t lease;
    uint32_t ms; /* NACK: tried again after so long, or SETTLE_BY_BACKOFF. EXTEND: the lease ends
                  * so long from now */
    struct bytes_of result; /* ACK */
    struct bytes_of reason; /* NACK: UTF-8, for people */
    struct bytes_of type;   /* ACK: Content-Type of a result that is no JSON; n 0: it is */
};

struct msg_task_settle {
    uint32_t n;
    struct settle_row *v;
    struct bytes_of queues; /* queues_match(): DENIED to a task of another one; n 0: of any */
};

struct settled_row {
    uint8_t code;
    uint8_t state;    /* enum task_state, after it; if the task is known */
    int64_t until_ms; /* Unix ms: EXTEND: the end of the lease. NACK: when it is tried again */
};

struct msg_task_settle_ans {
    uint32_t n;
    struct settled_row *v;
};

struct msg_task_progress {
    part_no part;
    uint64_t epoch;
    task_no no;
    uint64_t lease;
    uint8_t percent; /* the value + 1; 0: not said */
    struct bytes_of text, data; /* UTF-8; a JSON value */
    uint32_t ms; /* the lease ends so long from now; 0: as it did */
    struct bytes_of queues; /* see msg_task_settle */
};

struct msg_task_progress_ans {
    uint8_t code;
    uint8_t state; /* enum task_state */
    int64_t until_ms; /* Unix ms: the end of the lease */
};

#define FEED_ROWS_MAX 256

struct msg_task_feed { /* starts and ends of a queue's tasks */
    part_no part;
    uint64_t epoch;
    const char *queue;
    uint64_t after; /* number behind which they are; 0: from now on */
    uint32_t most;
    uint64_t whose; /* token that asks; 0: it is not known */
};

struct feed_row {
    uint8_t state; /* enum task_state that it has got: RUNNING, or how it ended */
    task_no no;
    uint32_t attempts;
    int64_t at_ms; /* Unix ms */
};

struct msg_task_feed_ans {
    uint8_t code;  /* DONE, FULL, STALE, BUSY */
    uint64_t next; /* `after` of the next question */
    bool gap;      /* some behind `after` are not known any more */
    uint32_t n;
    struct feed_row *v;
    bool of_token; /* FULL: it is the token that has as many as it may */
};

#define TASK_UPLOAD_MAX (64u << 10) /* bytes of a piece */

/* A piece of a body of which the submission (TASK_PUT, on the same link) has the form alone; with its link what
 * has come of it goes. */
struct msg_task_upload {
    part_no part;
    uint64_t epoch;
    uint64_t upload; /* number that the asker gave it, never used again on this link */
    uint64_t at;
    struct bytes_of data;
    uint64_t length; /* bytes of all, as announced; 0: not known */
    bool last;
    bool left; /* no more comes: what is here goes */
};

struct msg_task_upload_ans {
    uint8_t code; /* DONE; UNKNOWN: what came before is not here; INVALID: none is taken here; FULL: no room for
                   * it; STALE, BUSY */
    struct bytes_of sha256; /* last: hash of all */
};

#define TASK_READ_MAX (128u << 10) /* bytes of a piece */

struct msg_task_read { /* a piece of the answer to a call, of which a look has the first bytes only */
    part_no part;
    uint64_t epoch;
    task_no no;
    struct bytes_of sha256; /* hash of the whole, from the look */
    uint64_t at;
    uint32_t most; /* bytes from there */
};

struct msg_task_read_ans {
    uint8_t code; /* DONE; UNKNOWN: it is not kept any more; STALE, BUSY */
    struct bytes_of data; /* `most` bytes, or up to the end */
};

enum task_complete {
    COMPLETE_SUCCEEDED,
    COMPLETE_FAILED, /* tried again, or dead */
    COMPLETE_DEAD,
    COMPLETE_EXTEND, /* still at it */
    COMPLETE_NVERBS
};

struct msg_task_complete {
    part_no part;
    uint64_t epoch;
    task_no no;
    uint64_t lease; /* lease of the attempt, */
    uint32_t attempt;
    struct bytes_of right; /* and the MAC over them: struct attempt_right */
    uint8_t verb; /* enum task_complete */
    uint32_t ms;  /* FAILED: tried again after so long, or SETTLE_BY_BACKOFF. EXTEND: it ends so long
                   * from now */
    uint32_t status; /* HTTP; of what it said, not EXTEND */
    const char *content_type;
    struct bytes_of result;
    struct bytes_of reason; /* FAILED, DEAD: UTF-8, for people */
};

struct msg_task_complete_ans {
    uint8_t code;  /* SAME: it has ended so already; INVALID: not with this right */
    uint8_t state; /* enum task_state, after it */
    int64_t until_ms; /* Unix ms: when that ends by itself */
};

enum task_change {
    CHANGE_CANCEL,
    CHANGE_PATCH,
    CHANGE_READ = 3,    /* the result has been read: it is kept for a shorter time */
    CHANGE_DISCARD = 5, /* a final one goes now */
    CHANGE_NVERBS
};

struct msg_task_change {
    part_no part;
    uint64_t epoch;
    uint8_t verb; /* enum task_change */
    task_no no;   /* 0: by queue and name */
    const char *queue, *name;
    struct task_patch patch; /* PATCH */
    bool force;   /* CANCEL: one that runs is cancelled, too, and its lease ends */
    bool unbegun; /* CANCEL: only one at which no attempt has begun: else CONFLICT */
    struct bytes_of queues; /* see msg_task_settle */
};

struct msg_task_change_ans {
    uint8_t code;
    task_no no;
    uint8_t state; /* enum task_state, after it */
    bool maybe_executed; /* task_maybe_executed() */
};

enum schedule_verb {
    SCHEDULE_PUT,    /* this is its definition now */
    SCHEDULE_GET,
    SCHEDULE_LIST,   /* all of the queue */
    SCHEDULE_DELETE,
    SCHEDULE_NVERBS
};

enum schedule_run { /* outcome of a run; numbers of the wire: never changed */
    SCHEDULE_NOT_RUN, /* not asked, or the node knows no runs */
    SCHEDULE_FIRED,
    SCHEDULE_SAME,    /* a task with its Idempotency-Key is there */
    SCHEDULE_SKIPPED, /* the newest task is not over: overlap */
    SCHEDULE_NRUNS
};

#define SCHEDULES_MAX      1000         /* for a partition */
#define SCHEDULES_BYTES    (8u << 20)   /* bytes of their definitions, for a partition; memory is some three times that */
#define SCHEDULE_NAME_MAX  64
#define SCHEDULE_BODY_MAX  (16u << 10)  /* bytes of a payload, or a call */
#define SCHEDULE_TEXT_MAX  (20u << 10)  /* bytes of a definition */
#define SCHEDULE_NEXT_MAX  5
#define SCHEDULE_WHY_MAX   200

struct msg_task_schedule {
    part_no part;
    uint64_t epoch;
    uint8_t verb;             /* enum schedule_verb */
    const char *queue, *name; /* LIST: no name */
    /* PUT: */
    const char *cron;         /* "": each every_ms */
    int64_t every_ms;
    const char *zone;         /* zone of cron; "": UTC */
    int64_t jitter_ms;
    uint8_t overlap, catch_up; /* enum overlap, enum catch_up */
    uint32_t catch_up_max;     /* CATCH_UP_ALL */
    int64_t from_ms, until_ms; /* Unix ms; 0: no bound */
    bool paused;
    struct bytes_of text; /* JSON: as its caller wrote it */
    struct task_put put;  /* each of its tasks; without names and moments */
    bool run; /* GET: it fires now, once for put.key, if it has one. Who knows no runs only looks */
};

struct schedule_row {
    const char *name;
    uint32_t n_next;
    int64_t *next_ms;  /* Unix ms: ticks to come */
    int64_t last_ms;   /* the newest tick that was dealt with, or the definition's own moment */
    uint8_t outcome;   /* enum tick_outcome: what came of it */
    int64_t fired_ms;  /* the tick of the newest task; 0: there is none */
    task_no no;        /* the task that it made, */
    uint8_t state;     /* enum task_state; 0: it has gone */
    struct bytes_of text; /* definition, for a GET */
    const char *why;      /* why it has no ticks here; "": it may have some */
    bool paused;          /* no tick comes until it is resumed */
};

struct msg_task_schedule_ans {
    uint8_t code; /* DONE; SAME: nothing has changed; UNKNOWN, FULL, INVALID, STALE, BUSY */
    bool fresh;   /* PUT: a new name */
    const char *why; /* INVALID: a sentence */
    uint32_t n;
    struct schedule_row *v;
    uint8_t ran;    /* enum schedule_run */
    task_no ran_no; /* FIRED, SAME: its task; SKIPPED: the one that is not over */
};

enum group_verb {
    GROUP_LOOK,
    GROUP_SEAL,   /* no more tasks get in */
    GROUP_CANCEL, /* likewise, and those that are not final are cancelled, one after the other */
    GROUP_NVERBS
};

struct msg_task_group {
    part_no part;
    uint64_t epoch;
    uint8_t verb; /* enum group_verb */
    const char *queue, *name;
};

struct msg_task_group_ans {
    uint8_t code; /* DONE; SAME: it was so already; UNKNOWN, STALE, BUSY */
    bool sealed, cancelling;
    uint32_t n_counts;
    uint64_t *counts; /* by enum task_state: tasks in it, or that ended in it and have gone */
};

struct msg_task_first { /* nothing starts */
    part_no part;
    uint64_t epoch;
    const char *queue;
    uint32_t most; /* 1 .. TASK_ROWS_MAX */
    bool bodies;   /* with what was submitted */
};

struct first_row {
    task_no no;
    uint32_t attempts; /* number of those so far */
    uint8_t priority;
    int64_t order, entered_ms; /* Unix ms */
    const char *key1, *key2;
    struct bytes_of body;
};

struct msg_task_first_ans {
    uint8_t code; /* DONE (also if there is none), STALE, BUSY */
    uint64_t waiting; /* tasks in line in the queue */
    uint32_t now;     /* the first so many may start at once */
    bool cut;         /* more may be there, and no room for them */
    uint32_t n;
    struct first_row *v;
};

#define NOTICE_TEXT_MAX 8192
#define RELAY_TEXT_MAX  (CHAIN_BODY_MAX + CHAIN_MAX + 4096)

/* A task has ended, and its pool names a queue that is to be told: the router makes a call of it
 * there, with the Idempotency-Key PART-NO@ENDED, which makes one task however often this comes. */
struct msg_task_notice {
    part_no part; /* partition of the task that ended */
    uint64_t id;  /* the notice's, in that partition */
    task_no no;
    const char *queue; /* to be told: of a pool with an endpoint */
    uint8_t state;     /* enum task_state: how it ended, */
    int64_t ended_ms;  /* and when: Unix ms; of one task never the same twice */
    uint64_t start;    /* not 0: it starts (RUNNING), at ended_ms, under this lease, which is in
                        * the key: start-PART-NO@LEASE */
    struct bytes_of text; /* a JSON object: the task, as its line in the archive has it */
    struct bytes_of group; /* n > 0: in place of `text`: a group is over, a JSON object; no: the group's */
    struct bytes_of put;  /* n > 0: in place of a notice: the next task of a chain, a message TASK_PUT of one
                           * row, for the queue that this names; who does not know it answers INVALID */
};

struct msg_task_notice_ans {
    part_no part;
    uint64_t id;
    task_no no;
    uint8_t code; /* DONE, SAME: the queue has it; CONFLICT, INVALID: it never will; else it is to be
                     said again */
    part_no to_part; /* chain: the task that came of it */
    task_no to_no;
};

#endif
