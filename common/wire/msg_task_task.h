/* msg_task_task.h: a part of msg.h: a partition's copy from its node to the one that is to have it
 * next. Pure. Memory: msg.h. PROTOCOL.md section 26 says when it counts. */
#ifndef SEGQ_MSG_TASK_TASK_H
#define SEGQ_MSG_TASK_TASK_H

#include "common/wire/msg_router_task.h"

#define PCOPY_SEED     16           /* bytes: NAMES_SEED */
#define PCOPY_DATA_MAX (960u << 10) /* bytes of a chunk: a body more than PCOPY_CHUNK_BYTES */

enum pcopy_state { /* numbers are those of the wire: never changed */
    PCOPY_GOES,    /* chunks up to seq are written */
    PCOPY_WHOLE,   /* all of it is here, and written */
    PCOPY_REFUSED, /* refused; what has come of it is gone */
    PCOPY_NSTATES
};

/* A copy begins, or begins anew. part_epoch, in all three: the one that the target is to have. */
struct msg_pcopy_begin {
    part_no part;
    uint64_t part_epoch;
    const char *match;
    uint8_t seed[PCOPY_SEED]; /* seed of its names */
    uint32_t max_tasks, tasks;
};

/* Records as in a journal (task/store/record.h), framed; kind 0: the body of the record behind it,
 * empty: one that is lost. */
struct msg_pcopy_chunk {
    part_no part;
    uint64_t part_epoch;
    uint32_t seq; /* from 1, without gaps */
    struct bytes_of data;
    bool last;      /* the source is fenced, and this is all */
    uint32_t tasks; /* then: so many there are */
};

struct msg_pcopy_ack {
    part_no part;
    uint64_t part_epoch;
    uint32_t seq; /* 0: of the begin */
    uint8_t state; /* enum pcopy_state */
};

#endif
