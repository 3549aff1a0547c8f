/* waiting_text.h: the body that answers the poll of a ticket that waits, or the join that made it,
 * from pieces that are ready. Pure.
 *
 * All that differs between the tickets of one name (a segment as tokens call it) is the token and
 * four figures. The text between them is cut out of an answer of api_ticket(), once for each map
 * and each STATS, so it is the same answer, byte for byte. What needs more than that (a place
 * that is capped or not told; a long message) api_ticket() says.
 *
 * Memory: owns a record for each of WAITING_NAMES names; one that shares its slot with another is
 * made again when it is asked for. */
#ifndef SEGQ_WAITING_TEXT_H
#define SEGQ_WAITING_TEXT_H

#include "router/api/response.h"

#define WAITING_NAMES 256 /* a power of two */
#define WAITING_BODY_MAX 600
#define WAITING_TOUCH    64 /* bytes behind a body's end that may be written to */

#define TEXT_PIECE 64
#define TEXT_FIRST 192 /* with the names of the queue and the lane */

enum waiting_piece { BEHIND_POSITION, BEHIND_ETA, BEHIND_POLL, BEHIND_NUMBER, WAITING_NPIECES };

struct waiting_text {
    seg_id name;
    uint64_t changes; /* version of the routes that it was made from */
    struct route_owner owner;
    uint64_t counted; /* how many wait, by STATS: the total in BEHIND_POSITION */
    uint64_t most;    /* greatest position that is told this way; 0: none is */
    double per_s, leave;
    unsigned n_first, n[WAITING_NPIECES];
    char first[TEXT_FIRST]; /* between token and position */
    char piece[WAITING_NPIECES][TEXT_PIECE];
};

struct waiting_texts {
    struct waiting_text *v; /* owned; WAITING_NAMES */
    struct api_ans sample;  /* text that the pieces are cut out of */
};

SQ_CHECK int waiting_texts_init(struct waiting_texts *t); /* 0 or SQ_ENOMEM */
void waiting_texts_fini(struct waiting_texts *t);

/* Anew, because what is there is of another name, map or STATS. NULL: the map does not know
 * the name, or it is lost. */
const struct waiting_text *waiting_text_make(struct waiting_texts *t, const struct routes *r,
                                             seg_id name);

/* Good until the next call, or change of r. */
static inline const struct waiting_text *waiting_text_of(struct waiting_texts *t,
                                                         const struct routes *r, seg_id name)
{
    const struct waiting_text *x = &t->v[name & (WAITING_NAMES - 1)];

    if (SQ_LIKELY(x->name == name && x->changes == routes_changes(r)))
        return x;
    return waiting_text_make(t, r, name);
}

static inline bool waiting_text_tells(const struct waiting_text *x, uint64_t position)
{
    return position - 1 < x->most; /* 0 is not told */
}

/* The body, at w; returns its end. token: TOKEN_TEXT_LEN characters. */
char *waiting_text_put(const struct waiting_text *x, char *w, const char *token, uint32_t number,
                       uint64_t position, uint32_t poll_after_ms);

#endif
