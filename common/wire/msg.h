/* msg.h: everything that processes say to one another, as plain structs. Pure.
 *
 * Cores read and write these; codec.h turns them into protobuf and back. proto/PROTOCOL.md says
 * what each message means and what happens when it is lost. Every command is safe to repeat: it
 * names its subject (segment, tick, move) and carries the manager's epoch; the answer names them
 * again, so no answer can be taken for another's.
 *
 * Memory: pointers in a message are borrowed. A decoded message points into the arena
 * given to msg_decode(); a message in an outbox points into the outbox's arena.
 */
#ifndef SEGQ_MSG_H
#define SEGQ_MSG_H

#include "common/base/base.h"
#include "common/base/memory.h"
#include "common/wire/msg_node_node.h"
#include "common/wire/msg_router_manager.h"
#include "common/wire/msg_router_segment.h"
#include "common/wire/msg_router_task.h"
#include "common/wire/msg_segment_manager.h"
#include "common/wire/msg_task_manager.h"

/* The kinds of process that speak to one another. The numbers are those of the hello (PROTOCOL.md, section 8): never changed. */
enum rpc_role { RPC_ROUTER = 1, RPC_SEGMENT = 2, RPC_MANAGER = 3, RPC_TASK = 4, RPC_NROLES };

const char *rpc_role_name(enum rpc_role r); /* "router"; "?" for an unknown one */

#define MSG_BATCH_MAX        256  /* place, append and drop requests in one frame */
#define MSG_STATUS_MAX       2048 /* segment statuses, aheads in one frame */
#define MSG_COPY_BLOCKS      32   /* blocks in one MSG_COPY_CHUNK */
#define MSG_MARKS_MAX        8192 /* releases in one status or SEG_OPEN */
#define MSG_PASS_MAX         1400 /* bytes of a pass */

/* The ways of a message: a set, each from one role to one. */
#define MSG_WAY(from, to) (1u << ((from) * RPC_NROLES + (to)))
enum msg_ways {
    R2S = MSG_WAY(RPC_ROUTER, RPC_SEGMENT),
    S2R = MSG_WAY(RPC_SEGMENT, RPC_ROUTER),
    R2M = MSG_WAY(RPC_ROUTER, RPC_MANAGER),
    M2R = MSG_WAY(RPC_MANAGER, RPC_ROUTER),
    S2M = MSG_WAY(RPC_SEGMENT, RPC_MANAGER),
    M2S = MSG_WAY(RPC_MANAGER, RPC_SEGMENT),
    S2S = MSG_WAY(RPC_SEGMENT, RPC_SEGMENT),
    R2T = MSG_WAY(RPC_ROUTER, RPC_TASK),
    T2R = MSG_WAY(RPC_TASK, RPC_ROUTER),
    T2M = MSG_WAY(RPC_TASK, RPC_MANAGER),
    M2T = MSG_WAY(RPC_MANAGER, RPC_TASK),
    T2T = MSG_WAY(RPC_TASK, RPC_TASK),
    EACH_WAY = R2S | S2R | R2M | M2R | S2M | M2S | S2S | R2T | T2R | T2M | M2T | T2T,
};

/* The messages, by what reads them. Each row: name, number on the wire (never reused),
 * member of struct msg (a struct msg_MEMBER), ways. Enum, union, tables of the codec and the
 * dispatch of orders, copies and reports are made of these lists: what is added to one and has
 * no struct, no codec or no handler does not compile. */

/* The link itself: rpc.c writes them by hand, before anybody has a role. */
#define MSG_HELLOS(X)                                                                    \
    X(HELLO, 1)                                                                          \
    X(CHALLENGE, 2)                                                                      \
    X(PROOF, 3)                                                                          \
    X(WELCOME, 4)                                                                        \
    X(PING, 5)                                                                           \
    X(PONG, 6)

/* The hot path: a count and rows (struct msg_batch), packed in columns. */
#define MSG_BATCHES(X)                                                                   \
    X(PLACE, 16, place, R2S)             /* polls */                                     \
    X(PLACE_ANS, 17, place_ans, S2R)                                                     \
    X(APPEND, 18, append, R2S)           /* joins */                                     \
    X(APPEND_ANS, 19, append_ans, S2R)                                                   \
    X(DROP, 20, drop, R2S)               /* leaves */                                    \
    X(DROP_ANS, 21, drop_ans, S2R)                                                       \
    X(PASSES, 22, passes, S2R)           /* passes that are revoked */                   \
    X(SESSION, 23, session, R2S | S2R)   /* a backend's commands; and see the struct */  \
    X(SESSION_ANS, 24, session_ans, S2R)

/* Orders: from a manager to a segment node. The first member is the manager's epoch. */
#define MSG_ORDERS(X)                                                                    \
    X(NODE_OK, 49, node_ok, M2S)         /* registered under this epoch */               \
    X(SEG_OPEN, 50, seg_open, M2S)                                                       \
    X(SEG_SEAL, 51, seg_seal, M2S)                                                       \
    X(SEG_NEXT, 52, seg_next, M2S)                                                       \
    X(SEG_AHEAD, 53, seg_ahead, M2S)                                                     \
    X(SEG_POP, 54, seg_pop, M2S)         /* release n */                                 \
    X(SEG_REMOVE, 56, seg_remove, M2S)                                                   \
    X(RULES, 58, rules, M2S)             /* a queue's time-outs and texts */             \
    X(SEG_CREDIT, 64, seg_credit, M2S)   /* let the next n joins in at once */           \
    X(MOVE_IN, 59, move_in, M2S)         /* target's node: prepare to receive */         \
    X(MOVE_OUT, 60, move_out, M2S)       /* source's node: start copying */              \
    X(MOVE_END, 61, move_end, M2S)       /* both: commit or abort */                     \
    X(MEMBERS, 90, members, M2S)         /* which nodes keep the directory of subjects */

/* Reports: from a segment node to its manager. The first member is the epoch. */
#define MSG_REPORTS(X)                                                                   \
    X(SEG_POPPED, 55, seg_popped, S2M)                                                   \
    X(SEG_STATUS, 57, seg_status, S2M)                                                   \
    X(MOVE_STATUS, 62, move_status, S2M)

/* Copies: between the two nodes of a move. The first member is the move. */
#define MSG_COPIES(X)                                                                    \
    X(COPY_BEGIN, 80, copy_begin, S2S)                                                   \
    X(COPY_CHUNK, 81, copy_chunk, S2S)                                                   \
    X(COPY_TOUCH, 82, copy_touch, S2S)                                                   \
    X(COPY_EXTRA, 83, copy_extra, S2S)                                                   \
    X(COPY_END, 84, copy_end, S2S)                                                       \
    X(COPY_ACK, 85, copy_ack, S2S)       /* target's node to source's node */

#define MSG_OTHERS(X)                                                                    \
    X(ERROR, 7, error, EACH_WAY)                                                         \
    X(LOAD, 134, load, R2M | S2M | T2M)  /* use of processor and memory, every two seconds */  \
    X(ROUTER_REG, 32, router_reg, R2M)   /* the first message on a link */               \
    X(MAP, 33, map, M2R)                 /* the chain map, or what changed in it */      \
    X(STATS, 34, stats, M2R)             /* figures of the queues, once a second */      \
    X(LEFT, 35, left, R2M | M2R)         /* tickets that left, by a node that is away */ \
    X(JOINS, 36, joins, R2M)             /* joins of queues that may ask for a challenge */ \
    X(DEVICE, 47, device, R2M)           /* a ticket is shown by the device that takes it over */ \
    X(NODE_REG, 48, node_reg, S2M)       /* the first message on a link */               \
    X(REPLICA, 25, replica, S2R)         /* copies that answer polls of waiting tickets */     \
    X(SEEN, 26, seen, R2S)               /* polls that were answered so */               \
    X(LET_IN, 27, let_in, S2R)           /* tickets that somebody listens to */          \
    X(CONTACT, 41, contact, R2S)         /* how tickets are told that their turn comes */ \
    X(CONTACT_ANS, 42, contact_ans, S2R)                                                 \
    X(TURN, 43, turn, S2R)               /* a turn has come: to be told */                      \
    X(TURN_ANS, 44, turn_ans, R2S)                                                       \
    X(WHY, 70, why, M2S)                 /* about one ticket */                          \
    X(WHY_ANS, 71, why_ans, S2M)                                                         \
    X(DIR, 91, dir, S2S)                 /* a holder of tickets to an owner */           \
    X(DIR_ANS, 92, dir_ans, S2S)

/* Tasks: what routers ask of task nodes. */
#define MSG_TASKS(X)                                                                     \
    X(TASK_PUT, 100, task_put, R2T)      /* submissions */                               \
    X(TASK_PUT_ANS, 101, task_put_ans, T2R)                                              \
    X(TASK_GET, 102, task_get, R2T)      /* look at a task, now or once it is final */   \
    X(TASK_GET_ANS, 103, task_get_ans, T2R)                                              \
    X(TASK_TAKE, 104, task_take, R2T)    /* a worker takes some */                       \
    X(TASK_TAKE_ANS, 105, task_take_ans, T2R)                                            \
    X(TASK_SETTLE, 106, task_settle, R2T) /* workers' words about their tasks */       \
    X(TASK_SETTLE_ANS, 107, task_settle_ans, T2R)                                        \
    X(TASK_CHANGE, 108, task_change, R2T) /* cancel, order, when, read, ... */           \
    X(TASK_CHANGE_ANS, 109, task_change_ans, T2R)                                        \
    X(TASK_SCHEDULE, 128, task_schedule, R2T) /* put, looked at, deleted */              \
    X(TASK_SCHEDULE_ANS, 129, task_schedule_ans, T2R)                                    \
    X(TASK_PROGRESS, 151, task_progress, R2T) /* a worker's word, how far it is */        \
    X(TASK_PROGRESS_ANS, 152, task_progress_ans, T2R)                                    \
    X(TASK_FEED, 157, task_feed, R2T)    /* starts and ends of a queue's tasks */         \
    X(TASK_FEED_ANS, 158, task_feed_ans, T2R)                                            \
    X(TASK_COMPLETE, 117, task_complete, R2T) /* a target's word about its attempt, later */ \
    X(TASK_COMPLETE_ANS, 119, task_complete_ans, T2R)                                    \
    X(TASK_UPLOAD, 155, task_upload, R2T) /* a piece of the large body of a call to come */   \
    X(TASK_UPLOAD_ANS, 156, task_upload_ans, T2R)                                        \
    X(TASK_READ, 132, task_read, R2T)    /* a piece of an answer that is kept whole */    \
    X(TASK_READ_ANS, 133, task_read_ans, T2R)                                            \
    X(TASK_PIECE, 135, task_piece, T2R)  /* part of an answer, as it comes */            \
    X(TASK_FLOW, 136, task_flow, R2T)    /* more of it may come; or nobody reads it */    \
    X(TASK_PLACES, 140, task_places, T2R) /* news of who waits for an end */                \
    X(TASK_GROUP, 147, task_group, R2T)  /* a group of tasks: looked at, sealed, cancelled */ \
    X(TASK_GROUP_ANS, 148, task_group_ans, T2R)                                          \
    X(TASK_FIRST, 153, task_first, R2T)  /* a queue: which tasks would start, in order */ \
    X(TASK_FIRST_ANS, 154, task_first_ans, T2R)                                          \
    X(TASK_NOTICE, 124, task_notice, T2R) /* a task's end, to be told in another queue */ \
    X(TASK_NOTICE_ANS, 125, task_notice_ans, R2T)                                        \
    X(TASK_MAP, 110, task_map, M2R)      /* pools, their partitions, who has them */

/* Orders to task nodes, and what these report. The first member is the manager's epoch. */
#define MSG_TASK_ORDERS(X)                                                               \
    X(TASK_OK, 120, task_ok, M2T)        /* registered under this epoch */               \
    X(PART_OPEN, 121, part_open, M2T)                                                    \
    X(PART_DROP, 122, part_drop, M2T)                                                    \
    X(PART_OUT, 123, part_out, M2T)      /* copy it to another task node */              \
    X(PART_RATE, 116, part_rate, M2T)    /* share of a rate by metrics */            \
    X(ENDPOINT, 114, endpoint, M2T)      /* where calls go, and the node's share */      \
    X(ENDPOINT_DROP, 115, endpoint_drop, M2T)
#define MSG_TASK_REPORTS(X)                                                              \
    X(ENDPOINT_STATUS, 118, endpoint_status, T2M)                                        \
    X(PART_STATUS, 130, part_status, T2M)
#define MSG_TASK_OTHERS(X)                                                               \
    X(TASK_DO, 126, task_do, M2T)        /* operators' questions and orders about tasks */     \
    X(TASK_DO_ANS, 127, task_do_ans, T2M)                                                \
    X(TASK_REG, 131, task_reg, T2M)      /* the first message on a link */

/* A partition's copy: from its node to another one, which answers ACK. */
#define MSG_PART_COPIES(X)                                                               \
    X(PCOPY_BEGIN, 111, pcopy_begin, T2T)                                                \
    X(PCOPY_CHUNK, 112, pcopy_chunk, T2T)                                                \
    X(PCOPY_ACK, 113, pcopy_ack, T2T)

/* Messages that go through protobuf. */
#define MSG_TICKET_RECORDS(X) MSG_ORDERS(X) MSG_REPORTS(X) MSG_COPIES(X) MSG_OTHERS(X)
#define MSG_TASK_RECORDS(X)                                                              \
    MSG_TASKS(X) MSG_TASK_ORDERS(X) MSG_TASK_REPORTS(X) MSG_TASK_OTHERS(X) MSG_PART_COPIES(X)
#define MSG_RECORDS(X) MSG_TICKET_RECORDS(X) MSG_TASK_RECORDS(X)
#define MSG_BODIES(X) MSG_BATCHES(X) MSG_RECORDS(X)
#define MSG_TYPES(X)  MSG_HELLOS(X) MSG_BODIES(X) /* X(name, number, ...) */

enum msg_type {
    MSG_NONE = 0,
#define X(name, number, ...) MSG_##name = number,
    MSG_TYPES(X)
#undef X
};

const char *msg_name(enum msg_type t); /* "PLACE"; "?" for an unknown one */
/* May one role say this to another? False for the hello's, and for unknown types. */
bool msg_may(enum rpc_role from, enum rpc_role to, enum msg_type t);

struct msg_error {
    int32_t code; /* enum sq_err */
    uint32_t about; /* the message type that was not understood */
    const char *text;
};

/* Only for operators to look at: nothing depends on it. */
struct msg_load {
    uint32_t cpu_permille;  /* use of one core, in the last two seconds */
    uint64_t rss_bytes;     /* resident memory; 0: not known */
    int64_t started_ms;     /* Unix ms */
    const char *version;    /* SEGQ_VERSION */
    uint32_t late_us;       /* nodes: the most that a turn of the loop was late in these two seconds */
    bool answers;           /* routers: what follows is set */
    uint32_t answers_per_s; /* to joins, polls and leaves */
    uint32_t p99_us;        /* 99 of 100 of these took at most so long; 0: there was none */
    const char *warning;    /* warning of its /healthz; "": none */
    int64_t wall_ms;        /* Unix ms by its clock, when it was said; 0: an older release */
    bool leaves;            /* routers: it ends in good order, and is not missed */
};
#define LOAD_VERSION_MAX 32
#define LOAD_WARNING_MAX 250

struct msg_batch { /* common members of the messages of MSG_BATCHES */
    uint32_t n;
    void *rows;
};

struct msg {
    enum msg_type type;
    union {
        struct msg_batch batch; /* in MSG_BATCHES */
        uint64_t epoch;         /* in MSG_ORDERS and MSG_REPORTS */
        uint64_t move;          /* in MSG_COPIES */
#define X(name, number, member, ways) struct msg_##member member;
        MSG_BODIES(X)
#undef X
    };
};

/* A node of the cluster to which a core wants a link. */
struct node_want {
    char name[NAME_MAX_LEN + 1], addr[64]; /* "host:port" */
};

/* ---- outbox: what a core wants to be sent, in order ----
 *
 * A core fills it; the shell (or the simulation) empties it after each step, so a core
 * is never called back from inside a call. */

#define PEER_SELF UINT32_MAX /* the node says it to itself */

struct out_item {
    peer_no to;
    uint32_t bulk; /* bytes that its link counts (outbox_weigh()) */
    uint64_t rid; /* id of the question that it answers; 0: none */
    struct msg m;
};

struct outbox {
    struct arena mem; /* memory of the messages' members */
    struct out_item *v;
    uint32_t n, cap;
    bool failed; /* something could not be noted down for lack of memory */
    struct msg scratch; /* message that outbox_add() gives out when there is no memory */
};

void outbox_init(struct outbox *o);
void outbox_fini(struct outbox *o);
void outbox_reset(struct outbox *o); /* after the shell has sent everything */

/* A zeroed message of that type to fill in; variable parts come from o->mem. Never NULL:
 * without memory it is a scratch message that is not sent, and o->failed is set. Fill it
 * in before the next outbox_add(), which may move it. */
struct msg *outbox_add(struct outbox *o, peer_no to, enum msg_type t);
/* The same of the answer to the question `rid`. */
struct msg *outbox_answer(struct outbox *o, peer_no to, uint64_t rid, enum msg_type t);
/* The last one is a long message, of so many bytes. */
void outbox_weigh(struct outbox *o, size_t bytes);

#endif
