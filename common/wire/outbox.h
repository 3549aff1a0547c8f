/* outbox.h: what a core wants to be sent, in order. Pure.
 * A core fills it; the shell (or the simulation) empties it after each step, so a core
 * is never called back from inside a call. */
#ifndef SEGQ_OUTBOX_H
#define SEGQ_OUTBOX_H

#include "common/base/arena.h"
#include "common/wire/msg.h"

#define PEER_SELF UINT32_MAX /* the node says it to itself */

struct out_item {
    peer_no to;
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

#endif
