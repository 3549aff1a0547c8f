/* msg_directory.h: a part of msg.h: who has which subject: one place per person. Pure.
 * PROTOCOL.md, "One place per person". Memory: msg.h.
 *
 * A subject is only ever its keyed hash, which has the queue in it (token.h). */
#ifndef SEGQ_MSG_DIRECTORY_H
#define SEGQ_MSG_DIRECTORY_H

#include "common/base/base.h"

#define MSG_MEMBERS_MAX  1024 /* segment nodes of a cluster that keep the directory */
#define MSG_DIR_ROWS_MAX 4096 /* in one frame */

struct member_row {
    node_no no;
    const char *name, *addr;
};

/* Manager to segment nodes: their list. Each of them keeps a share of the directory. */
struct msg_members {
    uint64_t epoch;
    uint64_t version; /* another one for every other set of members; kept with the chains */
    node_no self;     /* the receiver */
    uint32_t n;
    struct member_row *v;
};

enum dir_ask { /* from the node with the ticket (the holder) to that of the share (the owner) */
    DIR_BEGIN, /* hash: a number of the holder's: all that it holds follows ... */
    DIR_PUT,   /* this subject has this ticket here */
    DIR_END,   /* ... and that was all. hash: as above; answered DIR_HEARD */
    DIR_CLAIM, /* may this subject have a ticket here? seg, number: in place of that one */
    DIR_FREE,  /* ticket is over, or not wanted */
    DIR_ECHO,  /* hash: any number; answered DIR_HEARD: all before it was heard */
    DIR_NASKS
};

enum dir_word { /* from an owner to a holder */
    DIR_GRANTED, /* yes: and nobody else may until the holder says DIR_FREE */
    DIR_EXISTS,  /* subject has this ticket */
    DIR_BUSY,    /* not certain now: ask again */
    DIR_HEARD,
    DIR_AGAIN,   /* begin anew: what comes from this link is not what was begun with */
    DIR_CHECK,   /* do you still hold it? If not: DIR_FREE */
    DIR_NWORDS
};

struct dir_row {
    uint64_t hash;
    seg_id seg; /* the token's, as all that follows; 0: no ticket yet */
    uint32_t number;
    uint32_t issued_s;
    uint8_t what; /* enum dir_ask in MSG_DIR, enum dir_word in MSG_DIR_ANS */
    uint8_t client;
};

struct msg_dir {
    uint64_t version; /* version of the members */
    uint32_t n;
    struct dir_row *v;
};

struct msg_dir_ans {
    uint64_t version;
    uint32_t n;
    struct dir_row *v;
};

#endif
