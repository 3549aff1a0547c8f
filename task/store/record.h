/* record.h: what a task node writes down: one record per change of a partition's state. Pure.
 *
 * Commands, and the clock, decide what shall happen and say it as a record; the same
 * function carries it out now and when the journal is read again (engine/apply.h). So a
 * record has all that the change needs: no clock is read and nothing drawn when it is
 * carried out, and rules are those that the records before it define.
 *
 * Encoded: the kind (by the caller), then the members of its row: numbers as varints (signed
 * ones folded), texts as their length and bytes. Kinds and rows are never changed; what is
 * new gets a new kind, and a kind that is not known is refused. */
#ifndef SEGQ_TASK_RECORD_H
#define SEGQ_TASK_RECORD_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* name, number in the journal (never given to another), members. */
#define TREC_KINDS(X)                                                                    \
    X(POOL, 1, name, rules)       /* a definition: which queues, their rules */          \
    X(AT, 2, until)               /* the moment at which what follows was decided */     \
    X(STOOD, 3, until)            /* the node stood so long: lives are longer by that */ \
    X(ACCEPT, 4, no, name, key1, key2, priority, order, state, until, entered, wall, body) \
    X(NAME, 5, no, kind_of, lo, hi, digest, until) /* name of the task accepted before it */ \
    X(ENTER, 6, no, entered, until) /* delay or back-off is over */                 \
    X(START, 7, no, lease, until)                                                        \
    X(EXTEND, 8, no, until)                                                              \
    X(RETRY, 9, no, why, until)   /* an attempt failed; the next one not before until */ \
    X(DONE, 10, no, body, until)  /* with its result; until: its life */                 \
    X(DEAD, 11, no, why, until)                                                          \
    X(CANCEL, 12, no, until)                                                             \
    X(STOP, 13, no)               /* runs, and is not tried again */                     \
    X(EXPIRE, 14, no, until)                                                             \
    X(REDRIVE, 15, no, entered, until)                                                   \
    X(ORDER, 16, no, order)                                                              \
    X(PRIORITY, 17, no, priority)                                                        \
    X(DELAY, 18, no, until, wall) /* for a scheduled one */                            \
    X(READ, 19, no, until)        /* result was read: its life is shorter */             \
    X(GONE, 20, no)                                                                      \
    X(SNAP, 21, lo, lease)        /* a snapshot: next order of acceptance, next lease */ \
    X(TASK, 22, no, name, key1, key2, priority, order, state, until, entered, wall, body, \
      attempts, lease, entry)                                                            \
    X(SNAP_END, 23, lo)           /* tasks in it */                                      \
    X(MOVED, 24, no, body)        /* body, or result, is at another place */             \
    X(SPARED, 25, no, why, until) /* like RETRY; the next attempt has the number of this one; why 0: \
                                     nobody saw it */ \
    X(DONE_UNDER, 26, no, lease)  /* behind TASK, of one that succeeded: under this start */ \
    X(CALL, 27, no, lease, until) /* like START, for a call to the pool's endpoint */        \
    /* records of the node, and of its partitions (task/node) */                                 \
    X(NODE, 30, epoch, hi)        /* the highest epoch of its managers; whose they are */ \
    X(PART, 31, epoch, most, wall, lo, hi, name) /* here; wall: paused; its seed */ \
    X(DROP, 32, epoch)            /* here no more */                                     \
    X(SNAPPED, 33, epoch)         /* the snapshot has all that is before this */         \
    X(COMING, 34, epoch)          /* a copy that comes; what follows is of it */         \
    X(COME, 35, epoch)            /* the copy is whole; PART: it is in service */        \
    X(FENCED, 36, epoch)          /* nothing changes: another is to have it under epoch */ \
    X(BODY, 37, lo, hi, name)     /* bytes of bodies: of file lo, at hi (task/bodies) */ \
    X(CLOCK, 38, lo, until, entered, wall) /* axis showed `until`, the time awake since the start \
                                              `lo` of the machine `entered`, the wall `wall` */ \
    X(QUOTA, 39, name, epoch, lo, until, entered, wall, hi, digest, most, no, entry, lease) /* levels of an endpoint's rates \
                                     in units (calls/endpoint.h), by this part, at a moment as in CLOCK; numbers of calendar windows */ \
    /* records of a partition again */                                                            \
    X(REDRIVING, 45, name, no, most) /* dead ones up to `no` wait again; most: per 1000 s */ \
    X(RUN, 46, no, entered, until) /* goes before all of its queue, beyond limits */     \
    X(OWN, 47, no, own)           /* things of its own (common/task/rules.h); before ACCEPT */ \
    X(KEYS, 48, name, rules)      /* limits of a pool's keys (common/task/rules.h) */ \
    X(REPLY, 49, no, body)        /* the target's words to an attempt that fails; 0: nothing */ \
    X(CUT, 52, no, until)         /* cancelled while it runs, by force: until 0; its slots are free */ \
    X(EXPLAIN, 51, no, lo, name)  /* newest attempt: a number, the worker's reason */ \
    X(PAST, 53, no, most, own)    /* attempts, and how many before them (store/extras.h) */ \
    /* records of a partition's schedules (task/schedules) */                                     \
    X(SCHEDULE, 54, lo, until, name) /* definition from `until` on; "": removed */        \
    X(TICK, 55, lo, until, no, why) /* outcome of a tick (enum tick_outcome); its task */ \
    /* records of its notices (task/node/ends.h) */                                                   \
    X(NOTIFY, 56, name)           /* the queue that is told; "": none */                 \
    X(NOTICE, 57, lo, no, state, until, name) /* words about a task's end at `until` */ \
    X(NOTICE_GONE, 58, lo)        /* the queue that it is for has it */                   \
    /* a record of a task again */                                                                \
    X(PASSED, 59, no)             /* runs; its caller begins to be told its answer: no attempt follows */ \
    X(TARGET, 60, no, lo)         /* runs: its call is at this target of its endpoint */ \
    X(SETTLED, 61, no, lo)        /* the attempt took so many units, whatever it was started for */ \
    X(SETTLEMENTS, 62, lo, hi)    /* in a snapshot: units charged, given back, by all SETTLED so far */ \
    X(CHAIN, 66, no, state, why, lo, hi, most, entry, own) /* came of task hi of partition lo; how far \
                                     the next one is, which is task `entry` of `most`; what it will be */ \
    X(RELAY, 67, lo, no, until, name) /* the next one after a task that succeeded, on its way */ \
    X(RELAY_GONE, 68, lo)         /* taken by its queue, or refused for ever */ \
    X(GROUP, 69, lo, hi, state, until, name, key1, own) /* group lo of queue `name`, its flags; hi: its hash; own: \
                                     its counts, in a snapshot */ \
    X(MEMBER, 70, no, lo)         /* task of group lo; before ACCEPT; in a snapshot behind TASK */ \
    X(GROUP_GONE, 71, lo)                                                                \
    X(LEVEL, 72, name, key1, key2, until, lo, hi, digest) /* in a snapshot: when the rate of starts of a \
                                     queue, or of a key, and each of its rates in units are full again */ \
    X(EMPTIED, 73, until)         /* all buckets were then: starts of before may be missing here */ \
    X(NOTIFY_STARTS, 74, name)    /* like NOTIFY; it is told of starts, too */              \
    X(NOTICE_START, 75, lo, no, state, until, name, lease) /* like NOTICE, of a start under `lease` */ \
    X(WINDOW, 76, lo, hi, wall, entered, lease, state, name) /* calendar window lo (rules.h), its hi-th, begins: from \
                                     `wall` to `entered`, Unix ms; starts from `lease` on; state 1: emptied; hi 0: its zone \
                                     is `name` */ \
    /* records of a task again */                                                                 \
    X(PLACE, 77, no, name, key1, key2, priority, order, lo, entry) /* before ACCEPT, TASK: it stands in queue \
                                     `name`, too, where slot `no` stands for it, of cost lo; 0: itself; entry: in a snapshot */ \
    X(AT_PLACE, 78, no, lo)       /* starts at its place `lo`: START, CALL is next */

enum trec_kind {
#define X(NAME, number, ...) TREC_##NAME = number,
    TREC_KINDS(X)
#undef X
    TREC_NKINDS /* end of the kinds */
};

/* Else of one partition's engine. */
static inline bool trec_is_of_node(unsigned kind)
{
    return kind >= TREC_NODE && kind < TREC_REDRIVING;
}

struct trec_text { /* borrowed, not 0-terminated */
    const char *p;
    uint32_t n;
};

/* Members; U: a number, I: a number with a sign, T: a text. Times: ms. */
#define TREC_MEMBERS(U, I, T)                                                            \
    U(no) U(until) U(entered) U(priority) U(wall) U(body) U(kind_of) U(lo) U(hi)         \
    U(digest) U(lease) U(why) U(state) U(attempts) U(entry) U(epoch) U(most) I(order)    \
    T(name) T(key1) T(key2) T(rules) T(own)

struct trec {
    uint8_t kind; /* enum trec_kind */
#define U(m) uint64_t m;
#define I(m) int64_t m;
#define T(m) struct trec_text m;
    TREC_MEMBERS(U, I, T)
#undef U
#undef I
#undef T
};

#define TREC_FRAME 4u /* in a log: length 3, kind 1, then the bytes; as the journal has it */

struct trec_frame { /* record in a log: bytes are borrowed */
    uint8_t kind;
    const uint8_t *p;
    size_t n;
};

/* The one at *at, which goes on to the next. False: it is cut short. */
SQ_CHECK bool trec_next(const uint8_t *log, size_t len, size_t *at, struct trec_frame *f);
/* Room for a record of n bytes, filled before the next call. NULL: no memory. */
void *trec_room(struct buf *log, uint8_t kind, size_t n);
void trec_frame(struct buf *log, uint8_t kind, const void *p, size_t n);
/* True: `body` is the reference of a payload, a result or a reply that the task gets by it. */
static inline bool trec_has_body(uint8_t kind)
{
    return kind == TREC_ACCEPT || kind == TREC_TASK || kind == TREC_DONE ||
           kind == TREC_REPLY;
}

/* The task is final with it. */
static inline bool trec_is_end(const struct trec *r)
{
    return r->kind == TREC_DONE || r->kind == TREC_DEAD || r->kind == TREC_CANCEL ||
           r->kind == TREC_EXPIRE || (r->kind == TREC_CUT && r->until == 0);
}

/* Appends all but its kind. Without memory b->failed is set, as always. */
void trec_encode(const struct trec *r, struct buf *b);
/* The same with its frame. */
void trec_append(const struct trec *r, struct buf *log);
/* 0; SQ_EPROTO; SQ_EUNKNOWN: a kind that this program does not know. Texts stay where they are. */
SQ_CHECK int trec_decode(uint8_t kind, const uint8_t *p, size_t n, struct trec *r);
const char *trec_name(unsigned kind); /* never NULL */

#endif
