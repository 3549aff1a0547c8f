/* dirs.h: the data of a node's part in the directory of subjects (PROTOCOL.md, "One place
 * per person"). The rooms segment/directory/ (what is said and asked) and segment/line/directory.h
 * (the node's own share) have the functions.
 *
 * This node is a *holder*: it says to each member which subjects of that member's share it
 * holds. And it is an *owner*: it keeps its own share, in which it is a holder like the
 * others, without a link. */
#ifndef SEGQ_SEG_TABLE_DIRS_H
#define SEGQ_SEG_TABLE_DIRS_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/wire/msg.h"
#include "segment/line/directory.h"
#include "segment/line/ticket_idx.h"

#define DIR_PERMITS_MAX 16384 /* joins that wait for another member's word */
#define DIR_PERMIT_MS   1000  /* a word that nobody has come back for is given back */
#define DIR_ANSWER_MS  10000 /* a claim without an answer was lost: everything is said anew */
#define DIR_WAIT_MS    5     /* when to ask again for it */
#define DIR_AGAIN_MS   1000  /* a member that does not answer is told everything again */
#define DIR_CHUNK      2048  /* subjects said between two answers */
#define DIR_CHECKS_MAX 64    /* in a step */
#define DIR_TELL_MS    3000  /* longest wait of a move for all members to have heard of it */

enum dir_mode {
    DIR_OFF,     /* the manager keeps none: a subject has one ticket in each node */
    DIR_UNKNOWN, /* not said yet */
    DIR_ON,
};

enum dir_state {     /* a member's knowledge of what we hold */
    DIR_SILENT,      /* nothing: there is no link */
    DIR_SAYING,      /* being said */
    DIR_KNOWN,       /* everything */
};

struct dir_member {
    char name[NAME_MAX_LEN + 1], addr[64];
    enum dir_state state;
    peer_no to;      /* our link to it; 0: none */
    peer_no from;    /* where its present word comes from; 0: it has none */
    uint64_t echo;   /* echo to await before we go on saying; 0: none */
    bool ending;     /* and that is the end */
    uint64_t heard;  /* the last number that it has answered */
    msec_t said_ms;
    seg_id at;       /* how far we are: in this segment, */
    uint32_t at_i;   /* at this subject */
    struct dir_row *row; /* owned; to be sent with the next step */
    uint32_t n, cap;
};

enum permit_state { PERMIT_ASKED, PERMIT_GRANTED, PERMIT_TAKEN };

struct permit {
    struct list_node in; /* dirs.asked or dirs.words, oldest first, or dirs.spare */
    uint64_t hash;
    enum permit_state state;
    msec_t since_ms;
    uint16_t owner;
    struct ticket_id old; /* a join that replaces it may use this claim's word */
    struct dir_row has;   /* PERMIT_TAKEN */
};

struct dir_check {
    uint64_t hash;
    uint16_t holder;
};

struct dirs {
    enum dir_mode mode;
    uint64_t version; /* version of the members; 0: none are known */
    struct dir_member *m; /* owned; [self] is this node */
    node_no *no;          /* owned; theirs */
    uint32_t n, self;     /* self == n: we are none of them */
    struct directory own;
    uint64_t count;       /* count of echoes that members are asked for */
    bool asks;            /* rows are waiting that a join waits for */
    bool self_again;      /* our own share lacks some of ours: there was no memory */
    struct permit *permit; /* owned; DIR_PERMITS_MAX, taken at the first need */
    struct map by_hash;   /* -> index of permit */
    struct list asked;     /* claims without an answer: PERMIT_ASKED */
    struct list words;     /* the others */
    struct list spare;
    struct dir_check check[DIR_CHECKS_MAX]; /* entries of others that may be old */
    unsigned n_check;
    uint64_t n_busy, n_exists; /* ever: joins that had to wait; that found an old place */
};

#endif
