/* segtab_dir.h: a segment node's part in the directory of subjects (PROTOCOL.md, "One place per person").
 * Included by segtab_int.h only.
 *   segtab_dir.c      the members, the links to them, what goes out with a step
 *   segtab_dir_say.c  as a holder: what is said to them
 *   segtab_dir_ask.c  as an owner: what they ask
 *   segtab_claim.c    joins that need another member's word
 *
 * This node is a *holder*: it says to each member which subjects of that member's share it
 * holds. And it is an *owner*: it keeps its own share (directory.h), in which it is a
 * holder like the others, without a link. */
#ifndef SEGQ_SEGTAB_DIR_H
#define SEGQ_SEGTAB_DIR_H

#include "common/base/list.h"
#include "segment/line/directory.h"
#include "segment/line/ticket_idx.h"

#define DIR_CLAIMS_MAX 16384 /* of joins that wait for another member's word */
#define DIR_CLAIM_MS   1000  /* a word that nobody has come back for is given back */
#define DIR_ANSWER_MS  10000 /* a claim has no answer: it was lost, all is said anew */
#define DIR_WAIT_MS    5     /* when to ask again for it */
#define DIR_AGAIN_MS   1000  /* a member that does not answer is told everything again */
#define DIR_CHUNK      2048  /* subjects said between two answers */
#define DIR_CHECKS_MAX 64    /* in a step */
#define DIR_TELL_MS    3000  /* a move waits so long for all members to have heard of it */

enum dir_mode {
    DIR_OFF,     /* the manager keeps none: a subject has one ticket in each node */
    DIR_UNKNOWN, /* it has not said yet */
    DIR_ON,
};

enum dir_state {     /* what a member knows of what we hold */
    DIR_SILENT,      /* nothing: there is no link */
    DIR_SAYING,      /* it is being said */
    DIR_KNOWN,       /* everything */
};

struct dir_member {
    char name[NAME_MAX_LEN + 1], addr[64];
    enum dir_state state;
    peer_no to;      /* our link to it; 0: none */
    peer_no from;    /* where its present word comes from; 0: it has none */
    uint64_t echo;   /* what it has to answer before we go on saying; 0: nothing */
    bool ending;     /* and that is the end */
    uint64_t heard;  /* the last number that it has answered */
    msec_t said_ms;
    seg_id at;       /* how far we are: in this segment, */
    uint32_t at_i;   /* at this subject */
    struct dir_row *row; /* owned; to be sent with the next step */
    uint32_t n, cap;
};

enum claim_state { CLAIM_ASKED, CLAIM_GRANTED, CLAIM_TAKEN };

struct claim {
    struct list_node in; /* dirs.asked or dirs.words, oldest first, or dirs.spare */
    uint64_t hash;
    enum claim_state state;
    msec_t since_ms;
    uint16_t owner;
    struct ticket_id old; /* whoever replaces it may use this claim's word */
    struct dir_row has;   /* CLAIM_TAKEN */
};

struct dir_check {
    uint64_t hash;
    uint16_t holder;
};

struct dirs {
    enum dir_mode mode;
    uint64_t version; /* of the members; 0: none are known */
    struct dir_member *m; /* owned; [self] is this node */
    node_no *no;          /* owned; theirs */
    uint32_t n, self;     /* self == n: we are none of them */
    struct directory own;
    uint64_t count;       /* of what members are asked to answer */
    bool asks;            /* rows are waiting that a join waits for */
    bool self_again;      /* our own share lacks some of ours: there was no memory */
    struct claim *claim;  /* owned; DIR_CLAIMS_MAX, taken at the first need */
    struct map by_hash;   /* -> index of claim */
    struct list asked;     /* claims without an answer: CLAIM_ASKED */
    struct list words;     /* the others */
    struct list spare;
    struct dir_check check[DIR_CHECKS_MAX]; /* entries of others that may be old */
    unsigned n_check;
    uint64_t n_busy, n_exists; /* ever: joins that had to wait; that found an old place */
};

struct segtab;
struct seg;
struct move;
struct outbox;
struct segtab_want;

void dirs_init(struct dirs *d);
void dirs_fini(struct dirs *d);
void segtab_dir_mode(struct segtab *t, bool on);
void segtab_dir_members(struct segtab *t, const struct msg_members *m);
void segtab_dir_msg(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out);
void segtab_dir_up(struct segtab *t, const char *name);
void segtab_dir_down(struct segtab *t, peer_no peer, const char *name);
void segtab_dir_tick(struct segtab *t);
void segtab_dir_flush(struct segtab *t, struct outbox *out);
/* Watches of a segment's subjects and of those that a move brings. */
void segtab_dir_watch(struct seg *g);
void segtab_dir_watch_move(struct move *v);
/* Of a move whose copy is whole: the members are told of its subjects, and must have heard
 * of them before it may be committed: they are known to be here before they are not there
 * any more. False: some member has no link. */
bool segtab_dir_tell(struct segtab *t, struct move *v);
bool segtab_dir_told(const struct segtab *t, const struct move *v);
/* Room for cap; how many. Behind those in v already. */
size_t segtab_dir_wanted(const struct segtab *t, struct segtab_want *v, size_t n, size_t cap);

bool dirs_on(const struct dirs *d); /* we are one of the members */

uint16_t dir_owner(const struct dirs *d, uint64_t hash);
uint16_t dir_member_named(const struct dirs *d, const char *name); /* UINT16_MAX: none */

/* ---- segtab_dir_say.c */
void dir_silence(struct segtab *t, uint16_t i); /* it knows nothing of what we hold */
void dir_say_begin(struct segtab *t, uint16_t i);
void dir_say_self_all(struct segtab *t); /* to our own share */
void dir_heard(struct segtab *t, uint16_t i, uint64_t number); /* the answer to an echo */
void dir_say(struct segtab *t, uint16_t owner, enum dir_ask what, const struct dir_row *r);
bool dir_holds(const struct segtab *t, uint64_t hash); /* has it a ticket here? */

/* ---- segtab_dir_ask.c */
void dir_check(struct segtab *t, uint16_t holder, uint64_t hash);

/* ---- segtab_claim.c ------------------------------------------------------------- */
enum claim_word {
    CLAIM_OURS, /* give it a ticket, now, or segtab_unclaim() */
    CLAIM_WAIT, /* ask again in DIR_WAIT_MS */
    CLAIM_HAS,  /* another node has its ticket: *has */
};
/* old: the subject's ticket that the new one replaces; seg 0: there is none. */
enum claim_word segtab_claim(struct segtab *t, uint64_t hash, struct ticket_id old,
                             struct dir_row *has);
void segtab_unclaim(struct segtab *t, uint64_t hash);
void claims_answer(struct segtab *t, uint16_t owner, const struct dir_row *r);
void claims_drop(struct segtab *t, uint16_t owner); /* what it has said is void */
void claims_tick(struct segtab *t);
bool claims_has(const struct dirs *d, uint64_t hash);

#endif
