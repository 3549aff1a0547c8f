/* window.h: both ends of an answer that is told piece by piece as it comes (TASK_PIECE): what may be on
 * its way between them, and what has arrived. Pure.
 *
 *   at most     WINDOW_BYTES are on their way, or with the receiver: so neither end, nor the link
 *               between them, ever has more of one answer
 *   crumbs      are not sent: a window that is nearly full counts as full, else each one that a fast
 *               target fills ends in a piece of some bytes, which costs as much as a whole one
 *   pieces      count as some bytes more than they have: many small ones are no way around it
 *   more        is asked for when half of it has been taken, not at each piece
 *   order       each piece says what was told before it: bytes are a prefix of what was sent, or the
 *               answer is broken
 *   whole       only what ends by the sender's word, at its known length, if it has one */
#ifndef SEGQ_COMMON_TASK_WINDOW_H
#define SEGQ_COMMON_TASK_WINDOW_H

#include <assert.h>

#include "common/base/err.h"

#define WINDOW_BYTES 65536u
#define WINDOW_PIECE 16u /* bytes that a piece counts more */
#define WINDOW_LEAST 2048u /* less room is none; well below half of the window: more comes */

struct window_out { /* end of who sends */
    uint64_t told;  /* bytes */
    uint32_t room;  /* bytes that may follow */
    uint32_t all;   /* bytes that may be on their way */
};

struct window_in { /* end of who receives */
    uint64_t heard; /* bytes */
    uint32_t room;  /* bytes that may come */
    uint32_t owed;  /* bytes that were taken, and are not asked for anew */
    bool sized;
    uint64_t length; /* sized */
};

static inline struct window_out window_out(uint32_t bytes)
{
    return (struct window_out){ .room = bytes, .all = bytes };
}

/* Bytes that the next piece may have. */
static inline uint32_t window_room(const struct window_out *w)
{
    return w->room >= WINDOW_LEAST ? w->room - WINDOW_PIECE : 0;
}

static inline void window_tell(struct window_out *w, size_t n)
{
    assert(n > 0 && n <= window_room(w));
    w->told += n;
    w->room -= (uint32_t)n + WINDOW_PIECE;
}

/* False: more than ever were on their way; nothing has changed. */
SQ_CHECK bool window_more(struct window_out *w, uint32_t n);

static inline struct window_in window_in(uint32_t bytes, bool sized, uint64_t length)
{
    return (struct window_in){ .room = bytes, .sized = sized, .length = length };
}

/* A piece of n bytes comes, with `at` before them. False: they are not the next ones, or too many. */
SQ_CHECK bool window_hear(struct window_in *w, uint64_t at, size_t n);
/* All that came has been taken: so many are to be asked for now; 0: later. */
uint32_t window_taken(struct window_in *w);
/* The sender says that it was all: is it? */
static inline bool window_is_whole(const struct window_in *w)
{
    return !w->sized || w->heard == w->length;
}

#endif
