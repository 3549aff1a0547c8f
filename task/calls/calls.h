/* calls.h: the endpoints that a node calls, and its calls on their way: what may go now. Pure.
 *
 * An endpoint lets a call begin while all of these do:
 *   the operator      it is not paused, nor tripped, and its definition is here, and can be used
 *   its rate          GCRA (rate.h), of this node's share; from an empty bucket
 *   its units         quota.h: the next call costs no more than is there; also of its target
 *   its slots         tasks of its pools that run, also those of which nobody knows whether the
 *                     target still has them (a restart, a move), and calls whose partition has
 *                     left: less than this node's share; a thousand if there is no bound; and less
 *                     than the adaptive limit allows (throttle.h), if it is on
 *   the target        Retry-After of a 429 or 503 is over
 *   its breaker       throttle.h
 *   its readings      what its page of metrics says closes it, or leaves fewer slots (pressure.h)
 *   its ramp          behind a start, a pause and an open breaker a tenth of rate and slots, and
 *                     half as much again each second, until it is all
 *
 * Where it has several targets (ENDPOINT.targets), each is a struct endpoint of its own, "gen#3", with
 * slots, Retry-After, breaker, adaptive limit, readings and ramp; rate, pause, a bound of all slots, and the budget of
 * retries are the endpoint's. target_pick.h says which one a call goes to, affinity.h that of a key. A call for which no connection
 * could be made goes to another one at once, if one lets it.
 *
 * A probe by hand goes beyond the last three of them. Retries have a budget (throttle.h). Times are
 * on the node's axis. Who takes tasks and settles them: task/node/calls.h; who sends:
 * task/service/caller.h. */
#ifndef SEGQ_CALLS_H
#define SEGQ_CALLS_H

#include "common/base/err.h"
#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/buf.h"
#include "common/task/state.h"
#include "common/task/window.h"
#include "common/ticket/task_token.h"
#include "common/wire/msg_task_manager.h"
#include "task/calls/pressure.h"
#include "task/calls/quota.h"
#include "task/calls/throttle.h"
#include "task/calls/usage.h"
#include "task/calls/verdict.h"

struct endpoint_counts { /* ever */
    uint64_t sent, succeeded, failed, ms; /* failed: the target was not well */
    uint64_t cut; /* their tasks were cancelled by force */
    uint64_t affine, astray; /* a target: calls that affinity wanted there, and that went there; elsewhere */
    uint64_t units; /* cost of calls that began */
    uint64_t of_class[CALL_NCLASSES], of_fault[CALL_NFAULTS];
};

struct endpoint { /* or one of its targets */
    struct list_node in; /* calls.endpoints */
    struct list targets; /* struct endpoint.in_of */
    struct endpoint *of; /* a target of this endpoint; NULL: an endpoint */
    struct list_node in_of;
    msec_t aside;        /* a target: others go first until then */
    int64_t credit;      /* a target: target_pick.h */
    uint64_t url_hash;   /* a target: affinity.h */
    uint64_t lacked;     /* a target: calls that affinity wanted there, and for which this node had no slot of it, */
    msec_t lacked_at;    /* within a second from then on */
    char name[TASK_NAME_MAX + 1];
    struct msg_endpoint def; /* texts owned; serial 0: gone, or not told yet */
    int64_t tat;      /* time of its rate (rate_now()) */
    struct quota quota;
    msec_t held;      /* until then by Retry-After; 0: not */
    msec_t ramp;      /* since then it rises; MSEC_NEVER: it is all there */
    struct breaker breaker;
    struct hand_probe hand;
    uint64_t resets; /* resets of the definition, as obeyed last */
    struct budget budget;
    struct adaptive adaptive;
    struct pressure pressure;
    uint8_t reading; /* enum reading_state, as reported last */
    uint32_t in_flight; /* calls of ours */
    uint64_t left;      /* attempts of partitions that have left, whose end nobody here hears */
    msec_t left_until;  /* the last of their leases */
    struct endpoint_counts n;
    /* In the taker's turn: */
    uint64_t running; /* tasks of its pools */
    uint64_t waiting; /* such that nothing else holds up */
    uint32_t next;    /* partition to be asked first */
    bool wanted;      /* a task that could go is there */
    bool said_wanted; /* and was, by the last report, */
    uint64_t said_running; /* with so many under way */
    /* For the sender: */
    void *target;           /* made for target_serial; */
    uint64_t target_serial;
    msec_t again;           /* not usable: then it is tried again, since files may have come */
    bool usable;            /* false: it could not be made, or not yet */
    char unusable[ENDPOINT_WHY_MAX + 1]; /* why it could not; "" */
};

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

/* 0; SQ_EINVAL: it is none that can be called; SQ_ENOMEM. The same serial again: nothing. */
SQ_CHECK int calls_define(struct calls *c, const struct msg_endpoint *m, msec_t now);
/* No call begins any more; those that go on end. */
void calls_drop(struct calls *c, const char *name);
/* True: dropped, without a target, and no call of it is on its way. */
bool endpoint_is_over(const struct endpoint *ep);
/* Frees it. It must be over, and nobody may have it. */
void calls_forget(struct calls *c, struct endpoint *ep);
struct endpoint *calls_find(const struct calls *c, const char *name); /* NULL */

/* running: tasks of its pools that run now. */
bool endpoint_lets(struct endpoint *ep, uint64_t running, msec_t now);
/* Units that a call may have that begins now, at this target, or at that of its targets which has the most;
 * QUOTA_ANY. */
uint64_t endpoint_affords(const struct endpoint *at, msec_t now);
/* The next one has more: it is waited for. A call of so many begins. It did not begin after all. */
void endpoint_waits(struct endpoint *at, uint64_t cost, msec_t now);
void endpoint_pays(struct endpoint *at, uint64_t cost, msec_t now);
void endpoint_returns(struct endpoint *at, uint64_t cost, msec_t now);
/* Charges, or gives back, the difference of a call that has paid `was` units and took `truth`. */
void endpoint_settles(struct endpoint *at, uint64_t was, uint64_t truth, msec_t now);
/* When it may let one pass by itself; MSEC_NEVER: when a call ends, or it is told so. */
msec_t endpoint_when(const struct endpoint *ep, uint64_t running, msec_t now);
/* When the nth task in line may go, as far as the endpoint says: in *ms, -1: not known; and by
 * what: PAUSED, ENDPOINT (it is down), RATE (also Retry-After), CONCURRENCY. */
enum task_eta endpoint_eta(const struct endpoint *ep, uint64_t nth, msec_t now, int64_t *ms);
/* on_quota: reject: so long a call of so many units, the nth in line, would wait for rates, or for a Retry-After;
 * 0: it would not, or is to wait. */
msec_t endpoint_over_quota(struct endpoint *ep, uint64_t nth, uint64_t cost, msec_t now);
/* Is it known that nothing goes until the target is well again, or an operator says so? */
bool endpoint_is_down(const struct endpoint *ep);
/* Would a breaker, its own or that of one of its targets, let a call find out whether that is well? */
bool endpoint_would_try(const struct endpoint *ep, msec_t now);
/* Returns what the calls of a task with these keys ("": none) have affinity by; 0: nothing. */
uint64_t endpoint_affinity(const struct endpoint *ep, const char *key1, const char *key2);
/* Where the call goes that begins now: itself, or one of its targets; NULL: to none of them. affinity: as
 * above. */
struct endpoint *endpoint_target(struct endpoint *ep, uint64_t affinity, uint64_t cost, msec_t now);
/* Why it cannot be called as it is defined: all of its targets; "". */
const char *endpoint_unusable(const struct endpoint *ep);

/* A probe by hand is wanted (PROBE_ASKED): may it go? running: as below; waits: a task could start.
 * False: its state says why not. True: the next call that begins is it; endpoint_no_task() if none
 * can. */
bool endpoint_probes(struct endpoint *ep, uint64_t running, bool waits, msec_t now);

/* Calls at once that it lets pass now, as far as the adaptive limit says; 0: it is off. */
uint64_t endpoint_adaptive(const struct endpoint *ep);

/* Calls that affinity wanted at this target, but for its share of slots; of the last second or two. */
uint64_t endpoint_lacked(const struct endpoint *ep, msec_t now);

/* Could more begin with a greater share? Not while it is down, or held, or at what the adaptive
 * limit allows. */
bool endpoint_lacks_share(const struct endpoint *ep, msec_t now);

/* Notes attempts that may be at the target until then, and that no other number counts. */
void endpoint_leaves(struct endpoint *ep, uint64_t attempts, msec_t until);
uint64_t endpoint_left(struct endpoint *ep, msec_t now);
/* Tasks that hold slots beside our calls: their target said `pending`, their task was cancelled by
 * force, or nobody knows how they ended (a restart, a move). */
static inline uint64_t endpoint_held(const struct endpoint *ep)
{
    return ep->running > ep->in_flight ? ep->running - ep->in_flight : 0;
}

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
/* Hears the bytes of its answer, for g->usage. */
void calls_hear(struct going_call *g, const struct call_answer *a, const void *p, size_t n);
/* Ends a task that has no request that may be made: nothing was sent. */
void calls_refuse(struct going_call *g);
/* Ends it: settled, or nobody cares. A call without an answer tells the endpoint nothing. */
void calls_end(struct calls *c, struct going_call *g, msec_t now);

#define each_endpoint(c, ep) list_each_of(&(c)->endpoints, struct endpoint, in, ep)
#define each_going(c, g)     list_each_of(&(c)->going, struct going_call, in, g)

#endif
