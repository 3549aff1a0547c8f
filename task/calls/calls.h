/* calls.h: the endpoints that a node calls (endpoint.h), and its calls on their way, from their begin to what
 * the endpoint learns from their answer. Pure. Who takes tasks and settles them: task/node/calls.h; who sends:
 * task/service/caller.h. */
#ifndef SEGQ_CALLS_H
#define SEGQ_CALLS_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/list.h"
#include "common/base/map.h"
#include "common/task/call.h"
#include "common/task/state.h"
#include "common/ticket/token.h"
#include "common/wire/msg_task_manager.h"
#include "task/calls/endpoint.h"
#include "task/calls/verdict.h"

#define CALL_WHY_MAX 128 /* with a 0 */

enum call_step {
    CALL_TAKEN, /* the start is not written yet */
    CALL_SENT,
    CALL_ENDED, /* end is not written yet */
};

struct going_call {
    struct list_node in; /* calls.going */
    struct endpoint *endpoint; /* ref */
    struct endpoint *at; /* ref; the target that it goes to: the endpoint itself, if that has a url */
    uint64_t id;
    uint8_t step; /* enum call_step */
    bool probe;
    bool by_hand; /* a probe that an operator ordered: the breaker did not let it go */
    part_no part;
    task_no no;
    uint64_t lease;
    uint32_t attempt;
    uint64_t cost;  /* units that it has paid */
    msec_t until;   /* the end of its lease */
    int64_t due_ms; /* Unix ms: when it began to wait */
    char queue[TASK_NAME_MAX + 1];
    char right[RIGHT_TEXT_LEN + 1]; /* right of the target to say how it ended */
    struct verdict verdict; /* ENDED */
    char why[CALL_WHY_MAX]; /* ENDED: how, in words: "tls: ...", "server_error" */
    struct buf result;      /* ENDED: in the form that is kept (common/task/call.h) */
    uint32_t max_result;    /* bytes of it that are kept with the task */
    struct call_reader {    /* peer that is told the answer as it comes (task/node/passing.h) */
        peer_no peer; /* 0: nobody */
        uint64_t rid;
        bool leaves;  /* the call ends when it has gone */
        bool waited_for; /* by its target, now */
        bool slow;       /* waited_for ever */
        struct window_out window; /* also of one that has gone */
    } reader;
    msec_t begun;
    struct told_mark told_at; /* calls to it that had begun, with this one */
    bool told_heard;          /* quotas in its answer were heard */
    struct usage usage; /* units that its answer says, as it comes */
    bool is_used;     /* ENDED: it has said so: */
    uint64_t used;    /* units */
    bool passed;      /* ENDED: somebody was told of it: no attempt follows */
    bool told_whole;  /* the end is written, and was that of a whole answer */
    struct list_node in_joined; /* calls.joined */
    struct list followers; /* struct follower.of_call (task/node/following.h) */
    uint64_t heard;        /* bytes of its answer so far, told to anybody or not */
    struct whole_of {      /* ENDED, with followers: what all of it is; length is `heard` */
        bool known;
        uint8_t sha256[RESULT_SHA256];
    } all;
    struct list_node in_held; /* list of its link, which has no room */
    struct list *held;        /* ref; NULL: it has */
    struct list_node in_early; /* calls.early */
    struct list_node in_eased; /* calls.eased */
    struct caller *sender;  /* state of the sender, as is what follows */
    void *target, *sending;
    struct answer_file *whole; /* owned: its answer is longer; NULL: not yet, or not kept */
    uint64_t length;           /* bytes of the answer so far */
    bool cut;                  /* not kept whole */
};

struct calls {
    struct list endpoints, going; /* endpoints: at the bound `most` they take turns */
    size_t most;  /* bound of `going` and `files`, but for calls that an operator orders */
    size_t files; /* answers that are being written, each to a file, at the begin of the turn */
    bool full;   /* the bound was reached, in the turn of the taker */
    struct list early; /* struct going_call: a head is here that may be told, and nobody hears it yet */
    struct list eased; /* struct going_call: the reader has room again, or has gone */
    struct list joined; /* struct going_call: somebody has come who would follow it */
    struct map by_id; /* -> struct going_call */
    struct map by_task; /* hash of partition and number -> struct going_call: the newest */
    uint64_t last_id;
};

void calls_init(struct calls *c);
void calls_fini(struct calls *c);

/* A call of a task that has just started, to endpoint_target(); the probe by hand, if one is asked for.
 * NULL: no memory. */
struct going_call *calls_begin(struct calls *c, struct endpoint *ep, uint32_t attempt, msec_t now);
struct going_call *calls_at(const struct calls *c, uint64_t id); /* NULL: it has gone */
/* From now on it can be found by its partition and number; without memory it cannot. */
void calls_name(struct calls *c, struct going_call *g);
struct going_call *calls_of_task(const struct calls *c, part_no part, task_no no); /* NULL */
/* Takes the target's answer: g->verdict, for the settlement; the endpoint learns from it. */
void calls_answered(struct going_call *g, const struct call_answer *a, msec_t now, int64_t wall_ms);
/* May the answer that begins so be told as it comes? What is tried again, or only begins to be worked
 * on, may not: nor what has no body, or is none that is passed on. */
bool call_may_pass(const struct call_answer *a, int64_t wall_ms);
/* Hears what the head of its answer says is left of quotas; once. */
void calls_told(struct going_call *g, const struct call_answer *a, msec_t now, int64_t wall_ms);
/* Hears the bytes of its answer, for g->usage. */
void calls_hear(struct going_call *g, const struct call_answer *a, const void *p, size_t n);
/* Ends a task that has no request that may be made: nothing was sent. */
void calls_refuse(struct going_call *g);
/* Ends it: settled, or nobody cares. A call without an answer tells the endpoint nothing. */
void calls_end(struct calls *c, struct going_call *g, msec_t now);

#define each_going(c, g) list_each_of(&(c)->going, struct going_call, in, g)

#endif
