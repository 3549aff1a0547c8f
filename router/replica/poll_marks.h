/* poll_marks.h: polls that this router answered by itself, until their node knows of them. Pure.
 *
 *   seen_add() --> marks at hand --seen_seal()--> frames not sent --seen_next()--> sent
 *                                     ^------- link lost -------------------------'  |
 *                                                              seen_acked(): gone <--'
 *
 * A mark is 8 bytes at hand, and 3 packed ones in a frame: counted into order by name, class and
 * number in two passes. Nothing is lost for want of room: seen_add() refuses, and the poll is
 * asked.
 *
 * Memory: everything here is owned; a frame is valid until it is acknowledged. */
#ifndef SEGQ_ROUTER_SEEN_H
#define SEGQ_ROUTER_SEEN_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/wire/msg.h"

#define SEEN_MARKS_MAX  8192 /* marks of a frame */
#define SEEN_FRAMES_MAX 128  /* frames that wait: a million marks */

struct seen_mark {
    uint32_t number;
    uint16_t group;
    uint8_t told; /* pace_class() */
};

struct seen_group { /* a row of the frame: marks of one name and class */
    seg_id name;
    uint8_t client;
};

struct seen_frame {
    struct list_node in_list;
    size_t size; /* bytes that it has room for */
    uint64_t seq;
    uint32_t n, n_marks; /* rows; in all of them */
    struct seen_row row[];
};

struct seen {
    struct seen_mark *mark; /* owned; NULL: none yet */
    struct seen_group *group;
    struct map by_group;    /* map of name and class -> index, which may be of an earlier frame */
    uint32_t n_marks, n_groups, last; /* last: the group of the last mark */
    struct list frames;     /* owned; by rising seq */
    struct list spares;     /* owned: a few, for those to come */
    struct list_node *unsent; /* the first that was not sent on this link; NULL: none */
    uint64_t seq, acked;
};

void seen_init(struct seen *s);
void seen_fini(struct seen *s);
/* False: no room, or no memory; nothing has changed. */
SQ_CHECK bool seen_add(struct seen *s, seg_id name, enum client_class client, uint32_t number,
                       uint32_t told_ms);
/* Marks at hand become a frame. False: no memory; they stay. */
bool seen_seal(struct seen *s);
/* The next frame to send; NULL: none. */
const struct seen_frame *seen_next(struct seen *s);
/* The number of a frame without marks: it is not kept. */
uint64_t seen_empty(struct seen *s);
/* A new link: everything that is not acknowledged goes out again. */
void seen_again(struct seen *s);
/* The node has everything up to seq. SQ_EPROTO: it was not sent. */
SQ_CHECK int seen_acked(struct seen *s, uint64_t seq);
/* Marks that their node does not have, as far as is known. */
uint64_t seen_waiting(const struct seen *s);

#endif
