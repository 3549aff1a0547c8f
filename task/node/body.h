/* body.h: the bytes of tasks: payloads and results, put into either kind of store, and read. Pure.
 * For the files of this room.
 *
 * A worker's result is kept whole, or as its length, its SHA-256 and as many of its first bytes as
 * the pool keeps. Most results are short and never read, and their hash would be a fifth of a
 * task's life: so that of a whole one is made of its bytes when it is read. */
#ifndef SEGQ_TASKTAB_BODY_H
#define SEGQ_TASKTAB_BODY_H

#include "task/node/state.h"

/* See tab_bodies. */
SQ_CHECK int tasktab_body_put(struct tasktab *t, const struct part *p, const struct bytes_of *body,
                              uint64_t *ref);
void tasktab_body_drop(struct tasktab *t, const struct part *p, uint64_t ref);
/* The bytes of a body or result, in the arena; of a shared store: they are there when the turn's
 * answers may leave. False: they are lost, or there is no memory. */
bool tasktab_body_load(struct tasktab *t, const struct part *p, uint64_t ref, struct bytes_of *to,
                       struct arena *mem);

/* ---- results ----------------------------------------------------------------------- */

#define RESULT_HEAD_WHOLE 1 /* bytes before the result's own */
#define RESULT_HEAD_CUT   (1 + 8 + RESULT_SHA256)

struct result {
    const uint8_t *p; /* borrowed: the first n bytes */
    uint32_t n;
    uint64_t length; /* bytes that it had; > n: it was cut */
    uint8_t sha256[RESULT_SHA256]; /* hash of all of it */
};

/* Appends what is kept of n bytes; most: of them. */
void result_pack(const uint8_t *p, uint32_t n, uint64_t most, struct buf *out);
/* The same of one that was longer than the n bytes that are here: length and hash are those of
 * all. */
void result_pack_cut(const uint8_t *p, uint32_t n, uint64_t length,
                     const uint8_t sha256[RESULT_SHA256], struct buf *out);
/* 0; SQ_EPROTO: it was not packed. */
SQ_CHECK int result_unpack(const uint8_t *p, size_t n, struct result *r);

#endif
