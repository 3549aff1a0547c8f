/* msg.h: everything that processes say to one another, as plain structs. Pure.
 *
 * Cores read and write these; codec_*.c turns them into protobuf and back (the only
 * files that see generated headers). proto/PROTOCOL.md says what each message means and
 * what happens when it is lost. Every command is safe to repeat: it names its subject
 * (segment, tick, move) and carries the manager's epoch; the answer names them again, so
 * no answer can be taken for another's.
 *
 * Memory: pointers in a message are borrowed. A decoded message points into the arena
 * given to msg_decode(); a message in an outbox points into the outbox's arena.
 */
#ifndef SEGQ_MSG_H
#define SEGQ_MSG_H

#include "common/base/base.h"
#include "common/wire/msg_directory.h"
#include "common/wire/msg_router_manager.h"
#include "common/wire/msg_router_segment.h"
#include "common/wire/msg_segment_manager.h"
#include "common/wire/msg_segment_segment.h"
#include "common/wire/msg_why.h"

#define MSG_BATCH_MAX        256  /* place, append and drop requests in one frame */
#define MSG_STATUS_MAX       2048 /* segment statuses, aheads in one frame */
#define MSG_COPY_BLOCKS      32   /* blocks in one MSG_COPY_CHUNK */
#define MSG_MARKS_MAX        8192 /* releases in one status or SEG_OPEN */
#define MSG_PASS_MAX         1400 /* bytes of a pass */

/* name, number on the wire (never reused) */
#define MSG_TYPES(X)                                                                     \
    X(HELLO, 1)         /* the link itself: rpc.c */                                     \
    X(CHALLENGE, 2)                                                                      \
    X(PROOF, 3)                                                                          \
    X(WELCOME, 4)                                                                        \
    X(PING, 5)                                                                           \
    X(PONG, 6)                                                                           \
    X(ERROR, 7)                                                                          \
    X(PLACE, 16)        /* router -> segment: polls */                                   \
    X(PLACE_ANS, 17)                                                                     \
    X(APPEND, 18)       /* router -> segment: joins */                                   \
    X(APPEND_ANS, 19)                                                                    \
    X(DROP, 20)         /* router -> segment: leaves */                                  \
    X(DROP_ANS, 21)                                                                      \
    X(PASSES, 22)                                                                        \
    X(SESSION, 23)      /* router -> segment: a backend's commands; and see the struct */ \
    X(SESSION_ANS, 24)                                                                   \
    X(ROUTER_REG, 32)   /* router -> manager */                                          \
    X(MAP, 33)          /* manager -> router: the chain map, or what changed in it */    \
    X(STATS, 34)        /* manager -> router: figures of the queues, once a second */    \
    X(NODE_REG, 48)     /* segment node -> manager, first message on a link */           \
    X(NODE_OK, 49)      /* manager -> segment node: registered under this epoch */       \
    X(SEG_OPEN, 50)                                                                      \
    X(SEG_SEAL, 51)                                                                      \
    X(SEG_NEXT, 52)                                                                      \
    X(SEG_AHEAD, 53)                                                                     \
    X(SEG_POP, 54)      /* manager -> segment: release n */                              \
    X(SEG_POPPED, 55)                                                                    \
    X(SEG_REMOVE, 56)                                                                    \
    X(SEG_STATUS, 57)   /* segment -> manager */                                         \
    X(RULES, 58)        /* manager -> segment: a queue's time-outs and texts */          \
    X(MOVE_IN, 59)      /* manager -> target's node: prepare to receive */               \
    X(MOVE_OUT, 60)     /* manager -> source's node: start copying */                    \
    X(MOVE_END, 61)     /* manager -> both: commit or abort */                           \
    X(MOVE_STATUS, 62)  /* both -> manager */                                            \
    X(WHY, 70)          /* manager -> segment: about one ticket */                       \
    X(WHY_ANS, 71)                                                                       \
    X(TICKET, 63)       /* manager -> segment: one ticket to another lane; and back */   \
    X(COPY_BEGIN, 80)   /* source's node -> target's node */                             \
    X(COPY_CHUNK, 81)                                                                    \
    X(COPY_TOUCH, 82)                                                                    \
    X(COPY_EXTRA, 83)                                                                    \
    X(COPY_END, 84)                                                                      \
    X(COPY_ACK, 85)     /* target's node -> source's node */                             \
    X(MEMBERS, 90)      /* manager -> segment: who keeps the directory of subjects */    \
    X(DIR, 91)          /* segment -> segment: a holder of tickets to an owner */        \
    X(DIR_ANS, 92)      /* and back */

enum msg_type {
    MSG_NONE = 0,
#define X(name, number) MSG_##name = number,
    MSG_TYPES(X)
#undef X
};

const char *msg_name(enum msg_type t); /* "PLACE"; "?" for an unknown one */

struct msg_error {
    int32_t code; /* enum sq_err */
    uint32_t about; /* the message type that was not understood */
    const char *text;
};

struct msg {
    enum msg_type type;
    union {
        struct msg_error error;
        struct msg_place place;
        struct msg_place_ans place_ans;
        struct msg_append append;
        struct msg_append_ans append_ans;
        struct msg_drop drop;
        struct msg_drop_ans drop_ans;
        struct msg_passes passes;
        struct msg_session session;
        struct msg_session_ans session_ans;
        struct msg_router_reg router_reg;
        struct msg_map map;
        struct msg_stats stats;
        struct msg_node_reg node_reg;
        struct msg_node_ok node_ok;
        struct msg_seg_open seg_open;
        struct msg_seg_seal seg_seal;
        struct msg_seg_next seg_next;
        struct msg_seg_ahead seg_ahead;
        struct msg_seg_pop seg_pop;
        struct msg_seg_popped seg_popped;
        struct msg_seg_remove seg_remove;
        struct msg_seg_status seg_status;
        struct msg_rules rules;
        struct msg_move_in move_in;
        struct msg_move_out move_out;
        struct msg_move_end move_end;
        struct msg_move_status move_status;
        struct msg_why why;
        struct msg_why_ans why_ans;
        struct msg_ticket ticket;
        struct msg_copy_begin copy_begin;
        struct msg_copy_chunk copy_chunk;
        struct msg_copy_touch copy_touch;
        struct msg_copy_extra copy_extra;
        struct msg_copy_end copy_end;
        struct msg_copy_ack copy_ack;
        struct msg_members members;
        struct msg_dir dir;
        struct msg_dir dir_ans;
    };
};

#endif
