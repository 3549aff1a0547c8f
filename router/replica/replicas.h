/* replicas.h: the answer to the poll of a waiting ticket, out of what segment nodes have told this
 * router (PROTOCOL.md, section 24); and which tickets have left nodes that cannot be asked. Pure.
 *
 * A place is told only if what is known is younger than `fresh_ms` (and the time that the way to the
 * node and back takes, STREAM_FAR_MS at most), and than the shortest interval that is told in the lane:
 * then whoever polls as told, at whatever router, is never told an older state than before, and a place
 * never grows. Everything else is asked.
 *
 * A name on its way to another segment (fenced) does not change until it is there. So its row
 * counts as long as the node of that segment does not list it; and its row there, once it does.
 *
 * A node that cannot be asked (its link is down, or it did not answer in time): what it said last
 * answers for `keep_ms`, as last known, if the manager does not reach the node either, and has not
 * heard it since: then nobody is told a newer state, nor let in. So nobody who waits is put off
 * because a node has died. A number that the node had not given by then waits, too: it was given
 * since, by its token; its place is not known.
 *
 * Tickets that have left (leaves_...), by the word of nodes that cannot be asked any more: a node that
 * dies right after its answer to a leave has told no other router of it, and may have lost it with its
 * machine. So a router notes who has left (a ring of the last LEAVES_MAX). If the node is not reached
 * any more, by this router or by the manager, these are `told`: routers hear of them through the
 * manager (MSG_LEFT), and each of them
 *   answers polls of them itself: gone (BY_LEFT);
 *   repeats the leave at each node that has their segment from then on (flow_leave_again()): the same
 *   one, which may have lost it, or the one that brings the segment back from its people.
 * Nobody comes back who has left, so what is there is never wrong, only of no use after a while.
 *
 * Memory: owns a stream for each node; all together are bounded by REPLICA_BYTES. */
#ifndef SEGQ_ROUTER_REPLICAS_H
#define SEGQ_ROUTER_REPLICAS_H

#include "common/ticket/token.h"
#include "common/wire/msg.h"
#include "router/gate/passes.h"
#include "router/replica/stream.h"

/* ---- tickets that have left ---------------------------------------------------------- */

#define LEAVES_MAX       MSG_LEFT_MAX
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

/* ---- places -------------------------------------------------------------------------- */

#define REPLICA_BYTES ((size_t)1 << 30)

enum replica_by { /* how a poll is answered */
    BY_REPLICA,
    BY_LAST_KNOWN,    /* node cannot be asked: the place as last known, */
    BY_NO_PLACE,      /* or none: on its way to another segment, or joined since */
    BY_LEFT,          /* has left: the last word of a node that is away */
    BY_ASKING_NAME,   /* nothing is known of the segment that its token names */
    BY_ASKING_FENCED, /* on its way to another one */
    BY_ASKING_TICKET, /* does not wait there */
    BY_ASKING_STALE,  /* known, but too old, */
    BY_ASKING_PACE,   /* or too old for so short intervals */
    BY_ASKING_MARKS,  /* the node is too slow to be told of more polls */
    REPLICA_NBY
};
extern const char *const replica_by_names[REPLICA_NBY];

struct replicas {
    struct line_pool pool;
    struct map streams; /* node_no -> struct stream *, owned */
    struct leaves leaves;
    msec_t fresh_ms;    /* beyond the way; 0: everything is asked */
    msec_t keep_ms;     /* at most REPLICA_KEEP_MS; 0: who cannot be asked is not answered for */
    msec_t word_until_ms; /* until then counts what the manager said of nodes */
    msec_t late_until_ms; /* words until then waited with one that came late */
    uint64_t polls[REPLICA_NBY];
};

void replicas_init(struct replicas *r, msec_t fresh_ms, msec_t keep_ms, uint32_t seed);
void replicas_fini(struct replicas *r);
/* NULL: no memory. */
struct stream *replicas_stream(struct replicas *r, node_no node);
/* Polls of which their nodes do not know yet. */
uint64_t replicas_marks(const struct replicas *r);
/* The age of what is known of the node whose last word is the oldest; 0: nothing is known. */
msec_t replicas_oldest_ms(const struct replicas *r, msec_t now_ms);
/* The map does not have the node any more. */
void replicas_forget(struct replicas *r, node_no node);

/* The manager's word of the nodes that it does not reach. True: others are to hear who has left
 * there. */
bool replicas_reach(struct replicas *r, const struct msg_stats *m, msec_t now_ms);

/* The place of a ticket whose segment `host`, on `node`, has by the map. False: the node is to be
 * asked. True: it waits, *a says where, and the node will hear that it was told. */
SQ_CHECK bool replicas_place(struct replicas *r, node_no node, seg_id host, const struct token *t,
                            msec_t now_ms, struct place_ans *a);
/* The same, before there is a flow: only answers are counted, since replicas_place() is asked next
 * where there is none. */
SQ_CHECK bool replicas_place_now(struct replicas *r, node_no node, seg_id host,
                                 const struct token *t, msec_t now_ms, struct place_ans *a);
/* After replicas_place() was false: the segment that the ticket's is on its way to; 0: none. */
seg_id replicas_heads_for(const struct replicas *r, node_no node, const struct token *t);
/* The place of that ticket: `heir`, that segment, is on `heirs` by the map.
 * *node: the owner; then who told it. */
SQ_CHECK bool replicas_place_moving(struct replicas *r, node_no *node, seg_id heir, node_no heirs,
                                   const struct token *t, msec_t now_ms, struct place_ans *a);
/* Counts who waits under a name whose segment `host`, on `node`, has by the map, as far as is known, of
 * whatever age; NULL: nothing is known. */
const struct line *replicas_line(const struct replicas *r, node_no node, seg_id host, seg_id name);
/* The same of a name on its way to another segment, too: until it is there its numbers stay. */
const struct line *replicas_last_line(const struct replicas *r, node_no node, seg_id host, seg_id name);
/* The moment of what is known of the node, of our clock, or later; INT64_MIN: nothing is. */
msec_t replicas_as_of_ms(const struct replicas *r, node_no node);
/* The manager has not heard the node for so long that it may let in people behind those of the node. */
bool replicas_is_passed_over(const struct replicas *r, node_no node, msec_t now_ms);
/* The same, after the node was asked and has not answered. */
SQ_CHECK bool replicas_unanswered(struct replicas *r, node_no node, seg_id host,
                                  const struct token *t, msec_t now_ms, struct place_ans *a);
/* Asks the node, if it is far, to say unasked when the ticket is let in (LET_IN). Returns what ends
 * that; 0: it is to be asked. */
uint8_t replicas_want(const struct replicas *r, node_no node, const struct token *t);
void replicas_want_no_more(const struct replicas *r, uint8_t link, const struct token *t);
/* Says whether what the node says now is of this moment, but for its way. */
bool replicas_is_fresh(const struct replicas *r, node_no node, msec_t now_ms);
/* A node has said that the ticket waits no more. */
void replicas_over(struct replicas *r, node_no node, const struct token *t);

#endif
