/* msg_why.h: a part of msg.h: an operator's question about one ticket, manager to segment
 * node, and the answers. It changes nothing, so it carries no epoch. A node answers twice:
 * at once what it knows now, and, if it keeps an audit trail, the ticket's lines as soon as
 * they are found. Lost: the manager answers without it, and says so. Pure. Memory: msg.h.
 */
#ifndef SEGQ_MSG_WHY_H
#define SEGQ_MSG_WHY_H

#include "common/base/base.h"

#define WHY_LINES_MAX 48000 /* bytes */

struct msg_why {
    uint64_t ask; /* which question: the answers name it */
    seg_id seg;   /* the token's */
    uint32_t number;
    uint8_t client; /* enum client_class */
};

enum why_state {
    WHY_NOT_HERE, /* this node has no such segment */
    WHY_MOVED,    /* moved_to: it was moved away from here */
    WHY_AWAY,     /* its node was lost, and it has not polled since */
    WHY_WAITING,
    WHY_READY,
    WHY_ADMITTED,
    WHY_GRACE,     /* a no-show that may still come back */
    WHY_RETURNING, /* it did, and goes first */
    WHY_GONE,      /* reason */
    WHY_ELSEWHERE, /* in another lane, to which staff moved it: number `position` of moved_to */
    WHY_NSTATES
};

struct msg_why_ans {
    uint64_t ask;
    bool more;  /* the lines are still looked for: only they come with the next answer */
    bool lines_only;
    uint8_t state;  /* enum why_state */
    uint8_t reason; /* enum gone_reason, if WHY_GONE */
    bool unkept;    /* released, but it may not be told before the manager has stored it */
    bool fenced;    /* its segment is being moved this very moment */
    seg_id segment; /* that it is in now */
    seg_id moved_to;
    uint64_t position; /* 0: not known, or not in line */
    uint64_t left_ms;  /* of its state: idle time, claim window, grace, pass */
    uint32_t told_ms;  /* waiting: how long it is told to wait, about */
    uint32_t silent_ms; /* waiting: since it was last seen, about */
    int64_t released_at_ms, pass_expires_s;
    bool trail;       /* the node keeps one */
    bool trail_whole; /* all of it was looked through, or the ticket's beginning was found */
    uint64_t trail_bytes; /* read */
    const char *lines;    /* newest first, each with its newline */
};

#endif
