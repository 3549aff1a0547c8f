/* leaves.h: tickets that have left, by the word of nodes that cannot be asked any more. Pure.
 *
 * A node that dies right after its answer to a leave has told no other router of it, and may have
 * lost it with its machine. So a router notes who has left (a ring of the last LEAVES_MAX). If the
 * node is not reached any more, by this router or by the manager, these are `told`: routers hear of
 * them through the manager (MSG_LEFT), and each of them
 *   answers polls of them itself: gone (BY_LEFT, replicas.h);
 *   repeats the leave at each node that has their segment from then on (flow_leave_again()): the
 *   same one, which may have lost it, or the one that brings the segment back from its people.
 *
 * Nobody comes back who has left, so what is here is never wrong, only of no use after a while. */
#ifndef SEGQ_ROUTER_LEAVES_H
#define SEGQ_ROUTER_LEAVES_H

#include "common/ticket/token.h"
#include "common/wire/msg.h"
#include "router/gate/passes.h"

#define LEAVES_MAX      MSG_LEFT_MAX
#define LEAVES_RECENT_MS (2 * REPLICA_KEEP_MS) /* a leave of before then is not told */
#define LEAVES_KEEP_S    600                   /* told ones: longer than a lost segment takes */
#define LEAVES_TOLD_MAX  16384                 /* above it a leave is not told */

struct leave {
    seg_id seg;
    uint32_t number;
    node_no node; /* node that has answered */
    msec_t told_ms; /* 0: not told */
    msec_t at_ms;
};

struct leaves {
    struct leave ring[LEAVES_MAX];
    uint32_t n; /* ever noted */
    struct revoked told; /* owned; a row's mark: the node at which the leave has been repeated */
    int64_t until_s; /* the newest row is kept until then */
    msec_t news_ms; /* rows of the ring that were told then are the news */
};

/* seed: hides the places of rows: which tickets leave is decided outside. */
void leaves_init(struct leaves *l, uint32_t seed);
void leaves_fini(struct leaves *l);
/* A node has answered that the ticket has left; nothing, if that was told. */
void leaves_note(struct leaves *l, node_no node, const struct token *t, msec_t now_ms);
/* The node is not reached. True: others are to hear of rows that they have not heard of. */
bool leaves_away(struct leaves *l, node_no node, msec_t now_ms);
/* The link to the node has ended: it may have lost leaves that were repeated there. */
void leaves_link_lost(struct leaves *l, node_no node);
/* Rows that others are to hear of, into v: LEAVES_MAX at most. How many. ALL: to a manager that may
 * have heard of none; NEWS: those of the last leaves_away() that had some. */
enum leaves_which { LEAVES_ALL, LEAVES_NEWS };
uint32_t leaves_rows(const struct leaves *l, enum leaves_which which, msec_t now_ms,
                     struct left_row *v);
/* Another router's. */
void leaves_heard(struct leaves *l, const struct msg_left *m, msec_t now_ms);
/* The next row of `told`, *i = 0 before the first; NULL: that was the last. */
struct revoked_row *leaves_next(struct leaves *l, uint32_t *i, msec_t now_ms);
/* The leave was not taken: it is to be repeated again. */
void leaves_again(struct leaves *l, const struct token *t);

static inline bool leaves_has(const struct leaves *l, const struct token *t)
{
    return SQ_UNLIKELY(l->told.n > 0) && revoked_has(&l->told, t->seg, t->number);
}

#endif
