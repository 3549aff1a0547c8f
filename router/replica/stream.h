/* stream.h: what one segment node has told this router of its lines, and of when that is. Pure.
 *
 *   link up --first SEEN--> WHOLE ... END --> differences --> link lost: what is here ages
 *                           (a new set; at END it takes the place of the one that is there)
 *
 * Age. A push says its moment by the node's clock (stamp) and the newest of our clocks that the
 * node had read before it (echo). So the stamp's moment is not before the echo's: the greatest
 * echo - stamp of the last seconds is a lower bound of how far our clock is ahead, and makes of
 * each stamp a moment of our clock that is surely not later than the true one. Arrival times are
 * not looked at; clocks drift by less than DRIFT_MS meanwhile.
 *
 * Distance. How long ago an echo was said when its push arrives is a way there and back, at least;
 * the least of the last seconds is the link's. Over an ocean nothing is ever younger. A jam looks
 * the same, but passes: where that matters, the least ever counts, over all links.
 *
 *   what fails                              what follows
 *   a row that does not follow, a clock     SQ_EPROTO: the link is to be closed
 *     or a count that was not said
 *   no memory, or more than the pool has    the name is forgotten: its polls are asked
 *   a row with a flag of a newer release    the same, until a row says it anew
 *   the node is older than this message     it refuses the first SEEN, and gets no other one
 *
 * Memory: a stream owns its sets, and they their names and paces. */
#ifndef SEGQ_ROUTER_STREAM_H
#define SEGQ_ROUTER_STREAM_H

#include "common/ticket/pace.h"
#include "common/ticket/token.h"
#include "router/replica/line.h"
#include "router/replica/poll_marks.h"

#define STREAM_SEEN_MS 100 /* interval of stream_seen() */
#define STREAM_WANTS   1024 /* rows of a message */

struct told_pace { /* pace of a lane */
    struct pace pace; /* min_ms 0: not known yet */
    uint32_t was_min_ms; /* before low_until_ms: the shortest that was told lately */
    msec_t low_until_ms;
};

/* The least min_ms that counts; 0: not known. */
static inline uint32_t told_pace_low_ms(const struct told_pace *p, msec_t now_ms)
{
    return now_ms < p->low_until_ms && p->was_min_ms < p->pace.min_ms ? p->was_min_ms
                                                                      : p->pace.min_ms;
}

struct known_name {
    seg_id host;
    uint64_t before;
    uint32_t told_max_ms;
    uint8_t flags; /* enum replica_row_flag */
    struct told_pace *pace; /* ref */
    struct line line;
};

struct known_set { /* content of a whole push, and the differences since */
    struct map names; /* seg_id -> struct known_name *, owned */
    struct map paces; /* map of queue and lane -> struct told_pace *, owned */
    bool lacks;       /* an absorbed name is not here, though the node has it */
    msec_t stamp_ms;  /* the node's clock */
    msec_t as_of_ms;  /* our clock: not later than that; INT64_MIN: not known */
};

struct stream {
    struct line_pool *pool; /* ref */
    struct known_set now, next; /* next: of a whole push that is under way */
    enum { STREAM_NOTHING, STREAM_WHOLE, STREAM_LIVE } state; /* state of this link */
    bool up;
    bool unreached; /* the manager did not reach the node, */
    msec_t word_ms;  /* said at this time of our clock, */
    msec_t heard_ms; /* and had heard it last at this one, or before */
    msec_t back_ms;  /* when it said that it reaches the node again; 0: it has not, or never lost it */
    msec_t stamp_ms; /* the last one of this link */
    msec_t clock_ms; /* our clock as said last */
    msec_t echo_at_ms; /* when a stamp is asked for next */
    struct { /* least echo - stamp of the last seconds, and of those before */
        int64_t best, was;
        msec_t since_ms;
    } offset;
    msec_t way_ms, way_was_ms; /* least way there and back, in the same spans; MSEC_NEVER: none yet */
    msec_t far_ms; /* by these; what the node says is never younger; 0: it is near, or not known */
    msec_t least_ms, since_ms; /* least way since then, over all links; MSEC_NEVER: none yet */
    msec_t sure_far_ms; /* by it: no jam has made it; 0 also until that is sure */
    struct seen seen;
    struct want_row *want; /* owned; what is said next of who listens: STREAM_WANTS, and who ends,
                            * which is at most one a listener, for then nobody begins */
    uint32_t n_want, cap_want, want_at; /* want_at: those before it were said */
    uint8_t link; /* hardly ever that of another one, or of an earlier link; not 0 */
};

void stream_init(struct stream *st, struct line_pool *pool);
void stream_fini(struct stream *st);
void stream_up(struct stream *st, msec_t now_ms);
void stream_down(struct stream *st);
/* The manager reaches the node, since now if it says so at once (back_ms; 0: perhaps for longer), or has not heard it
 * for so long. */
void stream_reached(struct stream *st, msec_t back_ms);
void stream_unreached(struct stream *st, msec_t silent_ms, msec_t now_ms);
SQ_CHECK int stream_apply(struct stream *st, const struct msg_replica *m, msec_t now_ms);
/* The next message to the node; false: no more for now. It refers to st->seen. */
bool stream_seen(struct stream *st, msec_t now_ms, struct msg_seen *m);
/* The last one of this process, once nobody is answered any more. */
void stream_farewell(struct stream *st, msec_t now_ms, struct msg_seen *m);

/* Somebody listens to the ticket, or (client WANT_NO_MORE) does not any more. False: the node is
 * near, so it can be asked; or more are waiting to be said than a message has; or no memory. */
bool stream_want(struct stream *st, const struct token *t, uint8_t client);

static inline struct known_name *stream_name(const struct stream *st, seg_id name)
{
    return map_get_ptr(&st->now.names, name);
}

/* At least so old may be what is here; MSEC_NEVER: nobody knows. */
static inline msec_t stream_age_ms(const struct stream *st, msec_t now_ms)
{
    return st->now.as_of_ms == INT64_MIN ? MSEC_NEVER : now_ms - st->now.as_of_ms;
}

#define STREAM_NEAR_MS 20 /* a way that counts for nothing */
#define STREAM_FAR_MS 750 /* with replica_fresh of 250 ms a second, the most that this may be */

#endif
